//! `kueue-lab explain`: the flags, and the output as text or JSON.

use std::path::PathBuf;

use clap::ValueEnum;
use kueue_lab_explain::ClusterExplainer;
use serde::Serialize;

use crate::cli::config::ConfigPurpose;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::lab_time::lab_or_real_time;
use crate::cli::output::print_stdout;
use crate::cli::{CommandError, config, runtime};

const EXAMPLES: &str = "\
Examples:
  kueue-lab explain workload job-train-5f2c1 -n team-a
  kueue-lab explain workload train -n team-a      by the name of its Job or Pod
  kueue-lab explain workload train -o json        the whole decision
  kueue-lab explain clusterqueue team-a           quota, reserving and pending Workloads
  kueue-lab explain preemption train -n team-a    by which Workload, under which policy";

/// Explain the admission of a Workload, the use of a ClusterQueue's quota, or the preemptions of a Workload.
///
/// The engine of a running lab or of `kueue-lab controller` explains its decisions. On other clusters an engine decides
/// on the objects and with the configuration of the cluster; with --config always.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    what: ExplainCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ExplainCommand {
    /// A Workload, by its name or by the name of its Job or Pod: flavors, quota and preemption candidates.
    #[command(visible_aliases = ["workloads", "wl"], after_help = EXAMPLES)]
    Workload(WorkloadArgs),
    /// A ClusterQueue: whether it is active, its quota and limits, reserving and pending Workloads, and the decision on its head.
    #[command(name = "clusterqueue", visible_aliases = ["clusterqueues", "cq"], after_help = EXAMPLES)]
    ClusterQueue(ClusterQueueArgs),
    /// The preemptions of a Workload and by it: preemptor, reason, policy, and the current decision.
    #[command(visible_alias = "preemptions", after_help = EXAMPLES)]
    Preemption(WorkloadArgs),
}

#[derive(Debug, clap::Args)]
struct WorkloadArgs {
    /// Name of the Workload, or of its Job or Pod, also as NAMESPACE/NAME.
    name: String,
    /// Its namespace [default: that of the context].
    #[arg(short, long)]
    namespace: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

impl WorkloadArgs {
    /// The namespace and the name.
    fn key<'a>(&'a self, of_context: &'a str) -> (&'a str, &'a str) {
        match self.name.split_once('/') {
            Some((namespace, name)) => (namespace, name),
            None => (self.namespace.as_deref().unwrap_or(of_context), &self.name),
        }
    }
}

#[derive(Debug, clap::Args)]
struct ClusterQueueArgs {
    /// Name of the ClusterQueue.
    name: String,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, clap::Args)]
struct CommonArgs {
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

impl CommonArgs {
    /// The explainer of the cluster, and the namespace of the context.
    async fn connect(&self) -> Result<(ClusterExplainer, String), CommandError> {
        let given = match &self.config {
            None => None,
            Some(path) => Some(config::read_config(path, ConfigPurpose::Explanation)?.loaded),
        };
        let context = self.target.context()?;
        let client = context.client().await.map_err(CommandError::usage)?;
        let kueue = match given {
            Some(given) => Some(given),
            None => config::configuration_or_note(&client).await?,
        };
        let explainer = ClusterExplainer {
            now: lab_or_real_time(&client).await,
            asks_lab: self.config.is_none(),
            kueue,
            client,
        };
        Ok((explainer, context.namespace().to_owned()))
    }

    /// An explanation in the format of `--output`.
    fn format(
        &self,
        text: impl FnOnce() -> String,
        json: &impl Serialize,
    ) -> Result<String, CommandError> {
        match self.output {
            Output::Text => Ok(text()),
            Output::Json => {
                Ok(serde_json::to_string_pretty(json).map_err(CommandError::failed)? + "\n")
            }
        }
    }
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CommandError> {
    let printed = runtime()?.block_on(async {
        match args.what {
            ExplainCommand::Workload(args) => workload(args).await,
            ExplainCommand::ClusterQueue(args) => cluster_queue(args).await,
            ExplainCommand::Preemption(args) => preemption(args).await,
        }
    })?;
    print_stdout(printed.as_bytes())
}

async fn workload(args: WorkloadArgs) -> Result<String, CommandError> {
    let (explainer, namespace) = args.common.connect().await?;
    let (namespace, name) = args.key(&namespace);
    let report = explainer.workload(namespace, name).await?;
    let found = match args.common.output {
        Output::Text => explainer.loop_of(&report.workload).await,
        Output::Json => None,
    };
    let text = || report.text(found.as_ref());
    args.common.format(text, &report.explained)
}

async fn cluster_queue(args: ClusterQueueArgs) -> Result<String, CommandError> {
    let (explainer, _) = args.common.connect().await?;
    let report = explainer.cluster_queue(&args.name).await?;
    args.common.format(|| report.text(), &report.explained)
}

async fn preemption(args: WorkloadArgs) -> Result<String, CommandError> {
    let (explainer, namespace) = args.common.connect().await?;
    let (namespace, name) = args.key(&namespace);
    let explained = explainer.preemption(namespace, name).await?;
    args.common.format(|| explained.text(), &explained)
}
