//! `kueue-lab explain`: why a workload waits, as the engine sees it.
//!
//! The engine is run again over what the cluster says now, so this works wherever the objects can be
//! read, whoever runs Kueue there.

mod load_engine;
mod text;

use std::path::PathBuf;

use clap::ValueEnum;
use kube::Client;
use kube::ResourceExt;
use kube::api::ListParams;
use kueue_lab_runtime::Api;

use super::crds::print_stdout;
use super::kubeconfig_args::{KubeconfigArgs, error_message};
use super::{CliError, config, runtime};
use kueue_lab_admission::EngineConfig;
use kueue_lab_admission::engine::Explanation;
use kueue_lab_admission::workload::WorkloadKey;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_clock::Clock;
use kueue_lab_controller::{ControllerConfig, Settings};
use kueue_lab_lab::KueueConfig;

const EXAMPLES: &str = "\
Examples:
  kueue-lab explain workload job-train-5f2c1 -n team-a
  kueue-lab explain workload train -n team-a      by the name of its Job or Pod
  kueue-lab explain workload train -o json        the decision with its whole reason";

/// Say why a workload is or is not admitted, with everything the decision rests on.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    what: ExplainCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ExplainCommand {
    /// A Workload, by its own name or by that of the job it stands for.
    #[command(visible_aliases = ["workloads", "wl"], after_help = EXAMPLES)]
    Workload(WorkloadArgs),
}

#[derive(Debug, clap::Args)]
struct WorkloadArgs {
    /// Name of the Workload, or of its Job or Pod.
    name: String,
    /// Its namespace.
    #[arg(short, long, default_value = "default")]
    namespace: String,
    /// How to print.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Kueue's configuration file, where the cluster's Kueue has one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    target: KubeconfigArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// For people.
    Text,
    /// Everything, for programs.
    Json,
}

pub(super) fn run(args: Args) -> Result<(), CliError> {
    let ExplainCommand::Workload(args) = args.what;
    runtime()?.block_on(async {
        let settings = match &args.config {
            None => EngineConfig::default(),
            Some(path) => engine_config(&config::read_config(path)?),
        };
        let (client, _) = args.target.connect().await?;
        let workload = find_workload(&client, &args.namespace, &args.name).await?;
        let (explanation, workload) = explain(&client, settings, &Clock::real(), &workload)
            .await
            .map_err(CliError::Failed)?;
        let printed = match args.output {
            Output::Text => text::render(&explanation, &workload),
            Output::Json => {
                let json = serde_json::to_string_pretty(&explanation);
                json.map_err(CliError::failed)? + "\n"
            }
        };
        print_stdout(printed.as_bytes())
    })
}

/// What of Kueue's configuration the engine looks at.
fn engine_config(kueue: &KueueConfig) -> EngineConfig {
    Settings::new(ControllerConfig::from(kueue.clone())).engine()
}

/// The Workload of that name, or that of a job of that name.
async fn find_workload(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<WorkloadKey, CliError> {
    let api: Api<Workload> = Api::namespaced(client.clone(), namespace);
    let failed = |e: kube::Error| CliError::Failed(error_message(&e));
    let key = |name: &str| WorkloadKey::new(namespace, name);
    if api.get_opt(name).await.map_err(failed)?.is_some() {
        return Ok(key(name));
    }
    let all = api.list(&ListParams::default()).await.map_err(failed)?;
    let owned = |wl: &&Workload| wl.owner_references().iter().any(|o| o.name == name);
    let mut found: Vec<&Workload> = all.iter().filter(owned).collect();
    // Of several slices or runs of the same job the newest is meant.
    found.sort_by_key(|wl| wl.creation_timestamp());
    match found.last() {
        Some(wl) => Ok(key(&wl.name_any())),
        None => Err(CliError::Failed(format!(
            "there is no Workload {name:?} in namespace {namespace:?}, and none of a job of that name; list them with `kubectl get workloads -A`"
        ))),
    }
}

/// Explains a workload over what the cluster says now.
///
/// # Errors
/// A sentence on why that cannot be had.
pub(super) async fn explain(
    client: &Client,
    config: EngineConfig,
    clock: &Clock,
    key: &WorkloadKey,
) -> Result<(Explanation, Workload), String> {
    let now = clock.now();
    let mut engine = load_engine::load_engine(client, config, now)
        .await
        .map_err(|e| error_message(&e))?;
    let gone = || format!("the Workload {key} is gone");
    let workload = engine.workload(key).ok_or_else(gone)?.as_ref().clone();
    let explanation = engine.explain(key, now).ok_or_else(gone)?;
    Ok((explanation, workload))
}

/// The same as text.
///
/// # Errors
/// A sentence on why that cannot be had.
pub(super) async fn explain_text(
    client: &Client,
    config: EngineConfig,
    clock: &Clock,
    key: &WorkloadKey,
) -> Result<String, String> {
    let (explanation, workload) = explain(client, config, clock, key).await?;
    Ok(text::render(&explanation, &workload))
}
