//! `kueue-lab sky down`

use super::user_clusters::{UserClusters, cluster_error};
use crate::cli::CommandError;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::output::print_stdout;

/// Delete clusters with their Pods and Services.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The clusters to delete.
    #[arg(value_name = "CLUSTER", required_unless_present = "all")]
    clusters: Vec<String>,
    /// All clusters but those of managed jobs.
    #[arg(short, long, conflicts_with = "clusters")]
    all: bool,
    /// As in SkyPilot; there is no confirmation.
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) async fn run(args: Args) -> Result<(), CommandError> {
    let user = UserClusters::connect(&args.target).await?;
    let clusters = match args.all {
        true => user.list().await?,
        false => user.named(&args.clusters).await?,
    };
    if clusters.is_empty() {
        return print_stdout(b"No existing clusters.\n");
    }
    for cluster in &clusters {
        user.clusters.down(cluster).await.map_err(cluster_error)?;
        print_stdout(format!("Terminating cluster {}...done.\n", cluster.name).as_bytes())?;
    }
    Ok(())
}
