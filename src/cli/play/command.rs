//! `kueue-lab play`: the command.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use jiff::Timestamp;
use kueue_lab_clock::Clock;
use kueue_lab_recording::{MomentServer, Recording};
use kueue_lab_tui::TuiConfig;
use kueue_lab_tui::backend::{Backend, PastBackend};
use parking_lot::RwLock;

use super::info::info;
use crate::cli::output::print_stdout;
use crate::cli::past_explainer::past_explainer;
use crate::cli::picture::PictureArgs;
use crate::cli::recording_file::{MomentArg, bundle_at, read_recording};
use crate::cli::tui_session::{self, TuiArgs, run_until_shutdown};
use crate::cli::{CommandError, Shutdown, logging, runtime};

const EXAMPLES: &str = "\
Examples:
  kueue-lab play lab.rec                                 the terminal UI on it
  kueue-lab play lab.rec --at end                        at its end
  kueue-lab play lab.rec --info                          begin, end, objects, decisions
  kueue-lab play lab.rec --at 1m30s -o yaml              the objects at a moment
  kueue-lab play lab.rec --at 2026-01-02T15:04:05Z -o yaml
  kueue-lab up --from lab.rec --at 1m30s                 a lab that goes on from there";

/// Show a recording that `kueue-lab record` or `up --record` wrote: in the terminal UI, read-only, which plays it and goes
/// to any of its moments; or as text.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// The recording.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The moment: a time, a duration since the begin such as 1m30s, or `end` [default: the first decision].
    #[arg(long, value_name = "TIME", value_parser = MomentArg::parse)]
    at: Option<MomentArg>,
    /// Print the objects at the moment, by default the last one, as a bundle that `up --from` loads.
    #[arg(short, long, value_enum)]
    output: Option<Output>,
    /// Print begin and end, and the numbers of objects and decisions.
    #[arg(long, conflicts_with_all = ["at", "output"])]
    info: bool,
    #[command(flatten)]
    picture: PictureArgs,
    #[command(flatten)]
    tui_args: TuiArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// YAML.
    Yaml,
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CommandError> {
    let prints = args.info || args.output.is_some();
    let has_terminal = tui_session::has_terminal();
    if !prints && args.picture.picture.is_none() && !has_terminal {
        let message = "the terminal UI needs a terminal on stdin and stdout, and TERM other than dumb; --info and -o yaml need none";
        return Err(CommandError::usage(message));
    }
    match prints {
        true => logging::to_stderr(),
        false => logging::to_file(),
    }
    let recording = read_recording(&args.file)?;
    if args.info {
        return print_stdout(info(&args.file, &recording).as_bytes());
    }
    match args.output {
        Some(Output::Yaml) => {
            let bundle = bundle_at(&recording, args.at.as_ref())?;
            for note in recording.note.iter().chain(&bundle.notes) {
                eprintln!("note: {note}");
            }
            print_stdout(bundle.to_yaml().as_bytes())
        }
        None => runtime()?.block_on(show(args, recording)),
    }
}

/// Opens the terminal UI.
async fn show(args: Args, recording: Recording) -> Result<(), CommandError> {
    let at = match args.at {
        Some(at) => at.time(&recording)?,
        None => first_moment(&recording),
    };
    let warnings = recording.note.into_iter();
    let name = args.file.file_name().unwrap_or_default();
    let history = recording.history;
    let client = MomentServer::new(history.at(at)).client();
    let config = args
        .tui_args
        .config(Backend::of_cluster(client), Clock::real());
    let config = TuiConfig {
        cluster: name.to_string_lossy().into_owned(),
        warnings: warnings
            .map(|note| format!("the recording: {note}"))
            .collect(),
        past: Some(PastBackend {
            history: Arc::new(RwLock::new(history)),
            explainer: past_explainer,
        }),
        recording_at: Some(at),
        ..config
    };
    let Err(config) = args.picture.draw(config).await? else {
        return Ok(());
    };
    match run_until_shutdown(*config, &Shutdown::start(true)?).await {
        Ok(_) => Ok(()),
        Err(error) => Err(CommandError::failed(error)),
    }
}

/// The moment of the first decision, or else the last moment.
fn first_moment(recording: &Recording) -> Timestamp {
    let mut decisions = recording.history.landmarks();
    let first = decisions.next().map(|decision| decision.time);
    first.unwrap_or_else(|| recording.history.ends_at())
}
