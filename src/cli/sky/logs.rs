//! `kueue-lab sky logs`

use super::user_clusters::UserClusters;
use crate::cli::CommandError;
use crate::cli::kubeconfig_args::KubeconfigArgs;

/// Print the log of a job on a cluster to its end.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    cluster: String,
    /// The number of the job [default: the newest one].
    #[arg(value_name = "JOB_ID")]
    job: Option<u64>,
    /// Print the log so far, and do not wait for its end.
    #[arg(long)]
    no_follow: bool,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) async fn run(args: Args) -> Result<(), CommandError> {
    let user = UserClusters::connect(&args.target).await?;
    let cluster = user.one(&args.cluster).await?;
    user.print_log(&cluster, args.job, !args.no_follow).await
}
