//! `kueue-lab play`: the command.

use std::path::PathBuf;

use clap::ValueEnum;

use super::info::info;
use crate::cli::output::print_stdout;
use crate::cli::recording_file::{MomentArg, bundle_at, read_recording};
use crate::cli::{CommandError, logging};

const EXAMPLES: &str = "\
Examples:
  kueue-lab play lab.rec --info                          begin, end, objects, decisions
  kueue-lab play lab.rec --at 1m30s -o yaml              the objects at a moment
  kueue-lab play lab.rec --at 2026-01-02T15:04:05Z -o yaml
  kueue-lab up --from lab.rec --at 1m30s                 a lab that goes on from there";

/// Show a recording that `kueue-lab record` or `up --record` wrote.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// The recording.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The moment: a time, a duration since the begin such as 1m30s, or `end`.
    #[arg(long, value_name = "TIME", value_parser = MomentArg::parse)]
    at: Option<MomentArg>,
    /// Print the objects at the moment, by default the last one, as a bundle that `up --from` loads.
    #[arg(short, long, value_enum)]
    output: Option<Output>,
    /// Print begin and end, and the numbers of objects and decisions.
    #[arg(long, conflicts_with_all = ["at", "output"])]
    info: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// YAML.
    Yaml,
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CommandError> {
    logging::to_stderr();
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
        None => Err(CommandError::usage(
            "name what to print: --info, or -o yaml",
        )),
    }
}
