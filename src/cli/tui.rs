//! `kueue-lab tui`

use std::sync::Arc;

use super::engine_explainer::EngineSource;
use super::kubeconfig_args::KubeconfigArgs;
use super::picture::PictureArgs;
use super::tui_session::{TuiArgs, backend, run_until_shutdown};
use super::{CommandError, Shutdown, logging, runtime};
use kueue_lab_clock::Clock;
use kueue_lab_lab::request_error_message;
use kueue_lab_tui::backend::{Backend, ClockBackend, DemoBackend, PresetBackend};
use kueue_lab_tui::{Exit, TuiConfig};
use kueue_lab_tui_backend::{ClusterClock, ClusterDemos, ClusterPresets};

const EXAMPLES: &str = "\
Examples:
  kueue-lab tui                         the running lab
  kueue-lab tui --context kind-kueue    any cluster with Kueue
  kueue-lab tui --context prod --read-only
  kueue-lab tui --picture queues.svg --press 1 --press enter";

/// Open the terminal UI on a running cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: KubeconfigArgs,
    /// Change nothing: keys that write to the cluster are disabled.
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    picture: PictureArgs,
    #[command(flatten)]
    tui_args: TuiArgs,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    logging::to_file();
    runtime()?.block_on(show(args))
}

async fn show(args: Args) -> Result<(), CommandError> {
    if args.picture.picture.is_none() && !super::tui_session::has_terminal() {
        let message =
            "the terminal UI needs a terminal on stdin and stdout, and TERM other than dumb";
        return Err(CommandError::usage(message));
    }
    let (client, name) = args.target.connect().await?;
    // Reports an unreachable cluster before the terminal is set up.
    let version = client.apiserver_version().await;
    version.map_err(|e| {
        CommandError::failed(format!("context {name}: {}", request_error_message(&e)))
    })?;
    let presets = ClusterPresets::find(&client).await.map(Arc::new);
    let lab_clock = ClusterClock::find(&client).await.map(Arc::new);
    let clock = lab_clock
        .as_ref()
        .map_or_else(Clock::real, |clock| clock.clock());
    let demos = ClusterDemos::find(&client).await.map(Arc::new);
    let backend = Backend {
        presets: presets.map(|presets| presets as Arc<dyn PresetBackend>),
        demos: demos.map(|demos| demos as Arc<dyn DemoBackend>),
        clock: lab_clock.map(|clock| clock as Arc<dyn ClockBackend>),
        ..backend(client, &clock, EngineSource::Cluster)
    };
    let config = TuiConfig {
        cluster: name,
        read_only: args.read_only,
        ..args.tui_args.config(backend, clock)
    };
    let Err(config) = args.picture.draw(config).await? else {
        return Ok(());
    };
    match run_until_shutdown(*config, &Shutdown::start(true)?).await {
        Ok(Exit::Quit | Exit::Signal | Exit::Cancelled) => Ok(()),
        Err(error) => Err(CommandError::failed(error)),
    }
}
