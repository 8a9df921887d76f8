//! `kueue-lab sky jobs queue`

use kueue_lab_skypilot::jobs::queue_table;

use super::managed_jobs::ManagedJobObjects;
use crate::cli::CommandError;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::output::print_stdout;

/// List the managed jobs, the newest first.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// More columns, among them the details of the status.
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) async fn run(args: Args) -> Result<(), CommandError> {
    let jobs = ManagedJobObjects::connect(&args.target).await?;
    let now = jobs.now().await?;
    let listed = jobs.list().await?.into_iter();
    let listed: Vec<_> = listed.map(|(_, job)| job).collect();
    let table = queue_table(&listed, now, args.verbose);
    print_stdout(format!("{table}\n").as_bytes())
}
