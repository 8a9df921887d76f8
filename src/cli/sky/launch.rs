//! `kueue-lab sky launch`

use kueue_lab_clock::Entropy;
use kueue_lab_skypilot::LaunchError;
use kueue_lab_skypilot::clusters::ClusterError;

use super::job_args::JobArgs;
use super::task_args::TaskArgs;
use super::user_clusters::{UserClusters, cluster_error};
use crate::cli::CommandError;
use crate::cli::kubeconfig_args::KubeconfigArgs;

/// The number of random characters in the name of a cluster without -c.
const SUFFIX: usize = 4;

/// Launch a cluster, run a task as a job on it, and print its log.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// The name of the cluster [default: a random one]. A cluster that exists is used again.
    #[arg(short, long, value_name = "NAME")]
    cluster: Option<String>,
    #[command(flatten)]
    job: JobArgs,
    /// As in SkyPilot; there is no confirmation.
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) async fn run(args: Args) -> Result<(), CommandError> {
    let (shown, text) = args.task.read()?;
    let task = args.job.task(&text)?;
    let name = args
        .cluster
        .unwrap_or_else(|| format!("sky-{}-sky", Entropy::from_os().suffix(SUFFIX)));
    let user = UserClusters::connect(&args.target).await?;
    eprintln!("Launching on Kubernetes ({}).", user.clusters.context());
    let progress = |text: &str| eprintln!("{text}");
    let launched = user.clusters.launch(&name, &task, progress).await;
    let cluster = launched.map_err(|error| match error {
        ClusterError::Provision(reason) => CommandError::failed(format!(
            "cannot launch the cluster {name:?}, its Pods are deleted: {reason}"
        )),
        ClusterError::Plan(reason @ LaunchError::PodResources(_)) => {
            CommandError::usage(format!("{shown}: {reason}"))
        }
        other => cluster_error(other),
    })?;
    eprintln!("✓ Cluster launched: {name}");
    if task.setup.is_none() && task.run.is_none() {
        return Ok(());
    }
    args.job.run(&user, &cluster, &task).await
}
