//! `kueue-lab sky exec`

use super::job_args::JobArgs;
use super::task_args::TaskArgs;
use super::user_clusters::UserClusters;
use crate::cli::CommandError;
use crate::cli::kubeconfig_args::KubeconfigArgs;

/// Run a task as a job on a cluster that exists, and print its log.
///
/// `setup` of the task is not run.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    cluster: String,
    #[command(flatten)]
    task: TaskArgs,
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) async fn run(args: Args) -> Result<(), CommandError> {
    let (_, text) = args.task.read()?;
    let mut task = args.job.task(&text)?;
    task.setup = None;
    let user = UserClusters::connect(&args.target).await?;
    let cluster = user.one(&args.cluster).await?;
    args.job.run(&user, &cluster, &task).await
}
