//! `kueue-lab tui`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::engine_explainer::EngineSource;
use super::kubeconfig_args::KubeconfigArgs;
use super::tui_session::{TuiArgs, backend, run_until_shutdown};
use super::{CommandError, Shutdown, logging, runtime};
use kueue_lab_clock::Clock;
use kueue_lab_lab::request_error_message;
use kueue_lab_tui::backend::{Backend, ClockBackend, DemoBackend, PresetBackend};
use kueue_lab_tui::{Colours, Exit, TuiConfig, screen_dump};
use kueue_lab_tui_backend::{ClusterClock, ClusterDemos, ClusterPresets};

/// Seconds to wait for the cluster's objects before `--picture` fails.
const CAPTURE_TIMEOUT_SECONDS: u64 = 10;

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
    /// Draw one screen to an SVG file (or as text to any other) instead of opening the UI.
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// With --picture: a key to press first, such as 2 or enter; or text to type.
    #[arg(long, value_name = "KEY", requires = "picture")]
    press: Vec<String>,
    /// With --picture: columns and rows.
    #[arg(long, value_name = "CxR", default_value = "120x36", value_parser = parse_size, requires = "picture")]
    size: (u16, u16),
    #[command(flatten)]
    tui_args: TuiArgs,
}

/// Reads `120x36`.
fn parse_size(text: &str) -> Result<(u16, u16), String> {
    let side = |text: &str| text.parse().ok().filter(|n| (20..=500).contains(n));
    text.split_once('x')
        .and_then(|(columns, rows)| Some((side(columns)?, side(rows)?)))
        .ok_or_else(|| "a size is columns x rows, such as 120x36, each from 20 to 500".into())
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    logging::to_file();
    runtime()?.block_on(show(args))
}

async fn show(args: Args) -> Result<(), CommandError> {
    if args.picture.is_none() && !super::tui_session::has_terminal() {
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
    match args.picture {
        Some(file) => write_picture(config, &file, args.size, &args.press).await,
        None => match run_until_shutdown(config, &Shutdown::start(true)?).await {
            Ok(Exit::Quit | Exit::Signal | Exit::Cancelled) => Ok(()),
            Err(error) => Err(CommandError::failed(error)),
        },
    }
}

/// Draws one screen to a file.
async fn write_picture(
    config: TuiConfig,
    file: &Path,
    (columns, rows): (u16, u16),
    press: &[String],
) -> Result<(), CommandError> {
    let config = TuiConfig {
        colours: Colours::Always,
        ascii: config.ascii.or(Some(false)),
        ..config
    };
    let keys: Vec<&str> = press.iter().map(String::as_str).collect();
    let drawn = kueue_lab_tui::capture(config, columns, rows, &keys, CAPTURE_TIMEOUT_SECONDS).await;
    let buffer = drawn.map_err(CommandError::failed)?;
    let is_svg = file.extension().is_some_and(|e| e == "svg");
    let text = match is_svg {
        true => screen_dump::svg(&buffer),
        false => screen_dump::text(&buffer),
    };
    kueue_lab_host::write(file, text).map_err(|e| {
        CommandError::usage(e).with_message(format!("cannot write {}", file.display()))
    })
}
