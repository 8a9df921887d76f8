//! `kueue-lab sky jobs launch`

use std::time::Duration;

use kube::ResourceExt;
use kueue_lab_clock::Clock;
use kueue_lab_skypilot::jobs::ManagedJobSpec;

use super::managed_jobs::ManagedJobObjects;
use crate::cli::CommandError;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::output::print_stdout;
use crate::cli::sky::task_args::TaskArgs;
use crate::cli::sky::user_config::user_config;

/// How long the lab may take to accept a job.
const TIMEOUT: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Launch a task as a managed job and print its id.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// The name of the job [default: that of the task].
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// As in SkyPilot; there is no confirmation.
    #[arg(short, long)]
    yes: bool,
    /// As in SkyPilot; the command never waits for the end of the job.
    #[arg(short, long)]
    detach_run: bool,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) async fn run(args: Args) -> Result<(), CommandError> {
    let (shown, text) = args.task.read()?;
    let jobs = ManagedJobObjects::connect(&args.target).await?;
    let spec = ManagedJobSpec {
        name: args.name,
        task: Some(text),
        config: user_config()?,
        cancelled: false,
    };
    let object = jobs.create(&spec).await?.name_any();
    let clock = Clock::real();
    let deadline = clock.now() + TIMEOUT;
    while clock.now() < deadline {
        let status = jobs.status(&object).await?;
        if let Some(error) = status.error {
            return Err(CommandError::failed(format!("{shown}: {error}")));
        }
        if let Some(job) = status.job {
            let line = format!("Managed job ID: {} ({})\n", job.id, job.name);
            return print_stdout(line.as_bytes());
        }
        clock.sleep(POLL_INTERVAL).await;
    }
    Err(CommandError::failed(format!(
        "the lab has not accepted the job within {} s; `kubectl get managedjobs {object} -o yaml` shows it",
        TIMEOUT.as_secs()
    )))
}
