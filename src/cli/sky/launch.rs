//! `kueue-lab sky jobs launch`

use std::time::Duration;

use kube::ResourceExt;
use kueue_lab_clock::Clock;
use kueue_lab_lab::sky_config_file;
use kueue_lab_skypilot::SkyConfig;
use kueue_lab_skypilot::jobs::ManagedJobSpec;

use super::managed_jobs::ManagedJobObjects;
use super::task_args::TaskArgs;
use crate::cli::CliError;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::output::print_stdout;

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

pub(super) async fn run(args: Args) -> Result<(), CliError> {
    let (shown, text) = args.task.read()?;
    let jobs = ManagedJobObjects::connect(&args.target).await?;
    let spec = ManagedJobSpec {
        name: args.name,
        task: Some(text),
        config: config()?,
        cancelled: false,
    };
    let object = jobs.create(&spec).await?.name_any();
    let clock = Clock::real();
    let deadline = clock.now() + TIMEOUT;
    while clock.now() < deadline {
        let status = jobs.status(&object).await?;
        if let Some(error) = status.error {
            return Err(CliError::Failed(format!("{shown}: {error}")));
        }
        if let Some(job) = status.job {
            let line = format!("Managed job ID: {} ({})\n", job.id, job.name);
            return print_stdout(line.as_bytes());
        }
        clock.sleep(POLL_INTERVAL).await;
    }
    Err(CliError::Failed(format!(
        "the lab has not accepted the job within {} s; `kubectl get managedjobs {object} -o yaml` shows it",
        TIMEOUT.as_secs()
    )))
}

/// The user's configuration, checked; `None` without a file.
fn config() -> Result<Option<String>, CliError> {
    let Some(file) = sky_config_file().filter(|file| file.exists()) else {
        return Ok(None);
    };
    let shown = file.display();
    let text = std::fs::read_to_string(&file)
        .map_err(|error| CliError::Usage(format!("{shown}: {error}")))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    SkyConfig::parse(&text).map_err(|problem| CliError::Usage(format!("{shown}:{problem}")))?;
    Ok(Some(text))
}
