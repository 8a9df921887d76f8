//! `kueue-lab record`

use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use kueue_lab_clock::Clock;
use kueue_lab_recording::{Recorder, RecorderConfig};
use kueue_lab_tui_backend::ClusterClock;
use tokio_util::sync::CancellationToken;

use super::kubeconfig_args::KubeconfigArgs;
use super::recording_file::{check_new, unusable};
use super::{CommandError, Shutdown, duration, logging, runtime};

const EXAMPLES: &str = "\
Examples:
  kueue-lab record lab.rec                          the running lab, until ctrl-c
  kueue-lab record --context prod --for 1h prod.rec
  kueue-lab play prod.rec --info                    what it has
  kueue-lab play prod.rec                           the terminal UI on it";

/// Record the course of a cluster to a file for `kueue-lab play`: Kueue's objects, jobs, Pods, Nodes and Events.
///
/// Read-only rights suffice, and nothing is written to the cluster. Secrets are not requested. What the user may not
/// watch is named and left out. The file is written as it goes: it can be played after a kill, too.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The file to write, readable by its owner only. It must not exist.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// End after this real time, such as 10m [default: at ctrl-c].
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse)]
    duration: Option<SignedDuration>,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    logging::to_stderr();
    check_new(&args.file)?;
    runtime()?.block_on(record(args))
}

async fn record(args: Args) -> Result<(), CommandError> {
    let shutdown = Shutdown::start(false)?;
    let (client, cluster) = args.target.connect().await?;
    // It follows the clock of a running lab.
    let lab_clock = ClusterClock::find(&client).await;
    let clock = lab_clock
        .as_ref()
        .map_or_else(Clock::real, ClusterClock::clock);
    let config = RecorderConfig {
        client,
        clock,
        cluster: cluster.clone(),
        streaming_lists: false,
        history: None,
        file: Some(args.file.clone()),
    };
    let failed = |error| unusable("write", &args.file, error);
    let recorder = shutdown.unless_requested(Recorder::start(config)).await?;
    let recorder = recorder.map_err(failed)?;
    let mut synced = recorder.synced();
    let stop = CancellationToken::new();
    let recording = tokio::spawn(recorder.run(stop.clone()));
    let end = async {
        match args.duration {
            Some(duration) => tokio::time::sleep(duration.unsigned_abs()).await,
            None => std::future::pending().await,
        }
    };
    let announced = async {
        if synced.wait_for(|synced| *synced).await.is_ok() {
            eprintln!("recording {cluster} to {}", args.file.display());
        }
        std::future::pending::<()>().await;
    };
    let mut recording = std::pin::pin!(recording);
    let ended = tokio::select! {
        ended = &mut recording => Some(ended),
        () = end => None,
        () = shutdown.requested() => None,
        () = announced => None,
    };
    stop.cancel();
    let ended = match ended {
        Some(ended) => ended,
        None => match shutdown.bounded(recording).await {
            Some(ended) => ended,
            None => {
                return Err(CommandError::failed(
                    "the recording has no end: its file cannot be written in time",
                ));
            }
        },
    };
    let summary = ended.map_err(CommandError::failed)?.map_err(failed)?;
    report(&args.file, &summary);
    Ok(())
}

/// Says what was recorded.
fn report(file: &Path, summary: &kueue_lab_recording::RecordingSummary) {
    for gap in &summary.gaps {
        eprintln!("note: not recorded: {gap}");
    }
    eprintln!("{} entries in {}", summary.entries, file.display());
}
