//! `kueue-lab explain`: the flags, and the output as text or JSON.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use jiff::Timestamp;
use kube::Client;
use kube::api::ListParams;
use serde::Serialize;

use super::explain_preemption::explain_preemption;
use super::explain_workload::{WorkloadReport, explain_live, explain_loaded, loop_of};
use super::find_workload::find_workload;
use super::live_explanations::LiveExplanations;
use super::load_engine::load_engine;
use super::{cluster_queue_text, preemption_text, text};
use crate::cli::config::ConfigPurpose;
use crate::cli::kubeconfig_args::{KubeconfigArgs, request_error};
use crate::cli::lab_time::lab_or_real_time;
use crate::cli::output::print_stdout;
use crate::cli::{CliError, config, runtime};
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};
use kueue_lab_controller_runtime::Api;
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::engine::ClusterQueueExplanation;

const EXAMPLES: &str = "\
Examples:
  kueue-lab explain workload job-train-5f2c1 -n team-a
  kueue-lab explain workload train -n team-a      by the name of its Job or Pod
  kueue-lab explain workload train -o json        the whole decision
  kueue-lab explain clusterqueue team-a           quota, reserving and pending Workloads
  kueue-lab explain preemption train -n team-a    by which Workload, under which policy";

/// Explain the admission of a Workload, the use of a ClusterQueue's quota, or the preemptions of a Workload.
///
/// The engine of a running lab explains its decisions. On other clusters an engine decides on the objects and with the
/// configuration of the cluster; with --config always.
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

/// The cluster of the command.
struct Cluster {
    client: Client,
    /// The namespace of the context.
    namespace: String,
    config: EngineConfig,
    now: Timestamp,
}

impl CommonArgs {
    async fn connect(&self) -> Result<Cluster, CliError> {
        let given = match &self.config {
            None => None,
            Some(path) => Some(config::read_config(path, ConfigPurpose::Explanation)?.loaded),
        };
        let context = self.target.context()?;
        let client = context.client().await.map_err(CliError::usage)?;
        let kueue = match given {
            Some(given) => Some(given),
            None => config::configuration_or_note(&client).await?,
        };
        Ok(Cluster {
            namespace: context.namespace().to_owned(),
            config: config::settings(kueue.as_ref()).engine(),
            now: lab_or_real_time(&client).await,
            client,
        })
    }

    /// The explanations of a running lab, unless another configuration is given.
    async fn live<'c>(&self, client: &'c Client) -> Option<LiveExplanations<'c>> {
        match &self.config {
            Some(_) => None,
            None => LiveExplanations::find(client).await,
        }
    }

    /// An explanation in the format of `--output`.
    fn format(
        &self,
        text: impl FnOnce() -> String,
        json: &impl Serialize,
    ) -> Result<String, CliError> {
        match self.output {
            Output::Text => Ok(text()),
            Output::Json => {
                Ok(serde_json::to_string_pretty(json).map_err(CliError::failed)? + "\n")
            }
        }
    }
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CliError> {
    let printed = runtime()?.block_on(async {
        match args.what {
            ExplainCommand::Workload(args) => workload(args).await,
            ExplainCommand::ClusterQueue(args) => cluster_queue(args).await,
            ExplainCommand::Preemption(args) => preemption(args).await,
        }
    })?;
    print_stdout(printed.as_bytes())
}

/// Explains a Workload by the engine of a running lab; `None` if the cluster is not one, and with `--config`.
async fn live_workload(
    args: &WorkloadArgs,
    cluster: &Cluster,
) -> Result<Option<WorkloadReport>, CliError> {
    let Some(live) = args.common.live(&cluster.client).await else {
        return Ok(None);
    };
    let (namespace, name) = args.key(&cluster.namespace);
    let api: Api<Workload> = Api::namespaced(cluster.client.clone(), namespace);
    let Ok(listed) = api.list(&ListParams::default()).await else {
        return Ok(None);
    };
    let workloads: Vec<_> = listed.items.into_iter().map(Arc::new).collect();
    let key = find_workload(&cluster.client, &workloads, namespace, name).await?;
    explain_live(&cluster.client, &live, &key).await
}

async fn workload(args: WorkloadArgs) -> Result<String, CliError> {
    let cluster = args.common.connect().await?;
    let report = match live_workload(&args, &cluster).await? {
        Some(report) => report,
        None => {
            let (namespace, name) = args.key(&cluster.namespace);
            let mut engine = load_engine(&cluster.client, cluster.config, cluster.now).await?;
            let workloads: Vec<_> = engine.workloads().cloned().collect();
            let key = find_workload(&cluster.client, &workloads, namespace, name).await?;
            explain_loaded(&cluster.client, &mut engine, cluster.now, &key).await?
        }
    };
    let found = match args.common.output {
        Output::Text => loop_of(&cluster.client, &report.workload, cluster.now).await,
        Output::Json => None,
    };
    let text = || text::render(&report, found.as_ref());
    args.common.format(text, &report.explained)
}

/// Explains a ClusterQueue by the engine of a running lab, as [`live_workload`].
async fn live_cluster_queue(
    args: &ClusterQueueArgs,
    cluster: &Cluster,
) -> Result<Option<(ClusterQueueExplanation, Option<ClusterQueue>)>, CliError> {
    let Some(live) = args.common.live(&cluster.client).await else {
        return Ok(None);
    };
    let Some(explained) = live.cluster_queue(&args.name).await? else {
        return Ok(None);
    };
    let api: Api<ClusterQueue> = Api::all(cluster.client.clone());
    let queue = api.get_opt(&args.name).await;
    let queue = queue.map_err(|error| request_error(&error))?;
    Ok(Some((explained, queue)))
}

async fn cluster_queue(args: ClusterQueueArgs) -> Result<String, CliError> {
    let cluster = args.common.connect().await?;
    if let Some((explained, queue)) = live_cluster_queue(&args, &cluster).await? {
        let text = || cluster_queue_text::render(&explained, queue.as_ref());
        return args.common.format(text, &explained);
    }
    let mut engine = load_engine(&cluster.client, cluster.config, cluster.now).await?;
    let Some(explained) = engine.explain_cluster_queue(&args.name, cluster.now) else {
        let queues = engine.cache().cluster_queues();
        let mut names: Vec<String> = queues.map(|queue| queue.name.to_string()).collect();
        names.sort();
        let names = match names.is_empty() {
            true => "the cluster has none".to_owned(),
            false => format!("the ClusterQueues are: {}", names.join(", ")),
        };
        return Err(CliError::Failed(format!(
            "there is no ClusterQueue {:?}; {names}",
            args.name
        )));
    };
    let queue = engine.cluster_queue(&args.name).cloned();
    let text = || cluster_queue_text::render(&explained, queue.as_deref());
    args.common.format(text, &explained)
}

async fn preemption(args: WorkloadArgs) -> Result<String, CliError> {
    let cluster = args.common.connect().await?;
    let (namespace, name) = args.key(&cluster.namespace);
    let mut engine = load_engine(&cluster.client, cluster.config, cluster.now).await?;
    let mut explained =
        explain_preemption(&cluster.client, &mut engine, cluster.now, namespace, name).await?;
    if let Some(live) = args.common.live(&cluster.client).await {
        explained.decide_by(&live).await?;
    }
    let text = || preemption_text::render(&explained);
    args.common.format(text, &explained)
}
