//! `kueue-lab sky jobs cancel`

use kueue_lab_skypilot::jobs::ManagedJob;

use super::managed_jobs::ManagedJobObjects;
use crate::cli::CommandError;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::output::print_stdout;

/// Cancel managed jobs and delete their clusters.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["ids", "name", "all"])))]
pub(super) struct Args {
    /// The ids of the jobs.
    #[arg(value_name = "ID")]
    ids: Vec<u64>,
    /// All jobs with this name.
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// All jobs.
    #[arg(short, long)]
    all: bool,
    /// As in SkyPilot; there is no confirmation.
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    target: KubeconfigArgs,
}

impl Args {
    fn selects(&self, job: &ManagedJob) -> bool {
        self.all || self.ids.contains(&job.id) || self.name.as_ref() == Some(&job.name)
    }
}

pub(super) async fn run(args: Args) -> Result<(), CommandError> {
    let jobs = ManagedJobObjects::connect(&args.target).await?;
    let listed = jobs.list().await?;
    let missing = args
        .ids
        .iter()
        .find(|id| listed.iter().all(|(_, job)| job.id != **id));
    if let Some(id) = missing {
        return Err(CommandError::usage(format!(
            "there is no managed job {id}; `kueue-lab sky jobs queue` lists them"
        )));
    }
    let mut lines = String::new();
    for (object, job) in &listed {
        if args.selects(job) && !job.status.is_final() {
            jobs.cancel(object).await?;
            lines.push_str(&format!(
                "Cancelling managed job {} ({})\n",
                job.id, job.name
            ));
        }
    }
    if lines.is_empty() {
        lines.push_str("No in-progress managed job to cancel.\n");
    }
    print_stdout(lines.as_bytes())
}
