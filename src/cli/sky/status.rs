//! `kueue-lab sky status`

use kueue_lab_skypilot::clusters::status_table;

use super::user_clusters::UserClusters;
use crate::cli::CommandError;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::lab_time::lab_or_real_time;
use crate::cli::output::print_stdout;

/// List the clusters, the newest first.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The clusters to list [default: all but those of managed jobs].
    #[arg(value_name = "CLUSTER")]
    clusters: Vec<String>,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) async fn run(args: Args) -> Result<(), CommandError> {
    let user = UserClusters::connect(&args.target).await?;
    let clusters = match args.clusters.is_empty() {
        true => user.list().await?,
        false => user.named(&args.clusters).await?,
    };
    let now = lab_or_real_time(&user.client).await;
    let table = status_table(&clusters, user.clusters.context(), now);
    print_stdout(format!("{table}\n").as_bytes())
}
