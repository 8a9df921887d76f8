//! `kueue-lab explain`: the flags, and the output as text or JSON.

use std::path::PathBuf;

use clap::ValueEnum;

use super::explain_workload::{explain, find_workload, loop_of};
use super::text;
use crate::cli::config::ConfigUser;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::output::print_stdout;
use crate::cli::{CliError, config, runtime};
use kueue_lab_admission::EngineConfig;
use kueue_lab_clock::Clock;

const EXAMPLES: &str = "\
Examples:
  kueue-lab explain workload job-train-5f2c1 -n team-a
  kueue-lab explain workload train -n team-a      by the name of its Job or Pod
  kueue-lab explain workload train -o json        the whole decision";

/// Explain why a Workload is or is not admitted: flavors, quota and preemption candidates.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    what: ExplainCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ExplainCommand {
    /// A Workload, by its name or by the name of its Job or Pod.
    #[command(visible_aliases = ["workloads", "wl"], after_help = EXAMPLES)]
    Workload(WorkloadArgs),
}

#[derive(Debug, clap::Args)]
struct WorkloadArgs {
    /// Name of the Workload, or of its Job or Pod.
    name: String,
    /// Its namespace [default: that of the context].
    #[arg(short, long)]
    namespace: Option<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Kueue's configuration file [default: the cluster's ConfigMap kueue-manager-config].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    target: KubeconfigArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// Plain text.
    Text,
    /// The whole decision.
    Json,
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CliError> {
    let ExplainCommand::Workload(args) = args.what;
    runtime()?.block_on(async {
        let given = match &args.config {
            None => None,
            Some(path) => {
                let file = config::read_config(path, ConfigUser::Explanation)?;
                Some(config::engine_config(&file.loaded))
            }
        };
        let context = args.target.context()?;
        let namespace = args.namespace.as_deref();
        let namespace = namespace.unwrap_or_else(|| context.namespace());
        let client = context.client().await.map_err(CliError::usage)?;
        let settings = match given {
            Some(settings) => settings,
            None => config::engine_config_of_cluster(&client)
                .await
                .unwrap_or_else(|why| {
                    eprintln!(
                        "note: {why}; this explanation assumes Kueue's default configuration"
                    );
                    EngineConfig::default()
                }),
        };
        let workload = find_workload(&client, namespace, &args.name).await?;
        let clock = Clock::real();
        let explained = explain(&client, settings, &clock, &workload)
            .await
            .map_err(CliError::Failed)?;
        let printed = match args.output {
            Output::Text => {
                let found = loop_of(&client, &explained.workload, &clock).await;
                text::render(&explained, found.as_ref())
            }
            Output::Json => {
                let json = serde_json::to_string_pretty(&explained.report());
                json.map_err(CliError::failed)? + "\n"
            }
        };
        print_stdout(printed.as_bytes())
    })
}
