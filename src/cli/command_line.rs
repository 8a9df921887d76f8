//! The command line: parses it, runs the subcommand and turns its outcome into an exit code.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use super::{
    clock, completions, controller, crds, demo, down, explain, export, import, kubeconfig, plan,
    play, preset, record, replay, simulate, sky, test, tui, uninstall, up,
};

const EXAMPLES: &str = "\
Examples:
  kueue-lab up                                  a lab with a terminal UI
  kueue-lab up --headless --preset team-cohort  a lab for scripts; prints `ready KUBECONFIG`
  kueue-lab up --cluster kind                   the same on kind; `kueue-lab down` ends it
  kueue-lab demo                                list the demos
  kueue-lab demo skypilot-priority-preemption --headless
  kueue-lab test                                run the *.test.yaml of this folder
  kueue-lab tui --context kind-kueue            the terminal UI on another cluster
  kueue-lab explain workload job-train-5f2c1    why it is pending
  kueue-lab simulate -f job.yaml                whether it would be admitted now
  kueue-lab replay --trace jobs.csv --preset a --preset b   compare queues on a trace
  kueue-lab record --context prod today.rec     record a cluster, read-only
  kueue-lab play today.rec                      the terminal UI on a recording
  kueue-lab crds | kubectl apply --server-side -f -";

/// The whole Kueue laboratory: admission controller, embedded Kubernetes API, fake GPUs, live queue
/// presets and a terminal UI in one binary.
#[derive(Debug, Parser)]
#[command(name = "kueue-lab", version, about, after_help = EXAMPLES, max_term_width = 100)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(up::Args),
    Down(down::Args),
    Demo(demo::Args),
    Test(test::Args),
    Preset(preset::Args),
    Clock(clock::Args),
    Tui(tui::Args),
    Explain(explain::Args),
    Simulate(simulate::Args),
    Replay(replay::Args),
    Crds(crds::Args),
    Export(export::Args),
    Import(import::Args),
    Plan(plan::Args),
    Record(record::Args),
    Play(play::Args),
    Sky(sky::Args),
    Kubeconfig(kubeconfig::Args),
    Controller(controller::Args),
    Uninstall(uninstall::Args),
    Completions(completions::Args),
}

/// Parses the command line, runs the subcommand and turns its outcome into an exit code:
/// 0 success, 1 failure, 2 invalid request.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report_usage_error(&error),
    };
    kueue_lab_http::raise_descriptor_limit();
    let outcome = match cli.command {
        Command::Up(args) => up::run(args),
        Command::Down(args) => down::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Test(args) => test::run(args),
        Command::Preset(args) => preset::run(args),
        Command::Clock(args) => clock::run(args),
        Command::Tui(args) => tui::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Simulate(args) => simulate::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Crds(args) => crds::run(args),
        Command::Export(args) => export::run(args),
        Command::Import(args) => import::run(args),
        Command::Plan(args) => match plan::run(args) {
            Ok(true) => return ExitCode::from(2),
            outcome => outcome.map(|_| ()),
        },
        Command::Record(args) => record::run(args),
        Command::Play(args) => play::run(args),
        Command::Sky(args) => sky::run(args),
        Command::Kubeconfig(args) => kubeconfig::run(args),
        Command::Controller(args) => controller::run(args),
        Command::Uninstall(args) => uninstall::run(args),
        Command::Completions(args) => completions::run(args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{}", failure.rendered());
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints help and version as clap renders them, and a usage error as one line.
fn report_usage_error(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed stdout leaves nothing to report.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => {
            let text = error.render().to_string();
            let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
            let message: Vec<&str> = lines
                .take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more information"))
                .map(|l| l.trim_start_matches("error: "))
                .collect();
            let command = subcommand_path(std::env::args().skip(1));
            let message = message.join("; ").replace(":; ", ": ");
            eprintln!("error: {message}; see {command} --help");
            ExitCode::from(usage_error_code(std::env::args().skip(1)))
        }
    }
}

/// The exit code of a usage error. With `--detailed-exitcode`, 2 means changes.
fn usage_error_code(mut args: impl Iterator<Item = String>) -> u8 {
    match args.any(|arg| arg == "--detailed-exitcode") {
        true => 1,
        false => 2,
    }
}

/// The command with the subcommands that `args` name, such as `kueue-lab explain workload`.
fn subcommand_path(args: impl Iterator<Item = String>) -> String {
    let mut path = "kueue-lab".to_owned();
    let mut command = Cli::command();
    for arg in args {
        let Some(subcommand) = command.find_subcommand(&arg).cloned() else {
            break;
        };
        path = format!("{path} {}", subcommand.get_name());
        command = subcommand;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn usage_errors_name_the_subcommand() {
        let path = |args: &[&str]| subcommand_path(args.iter().map(|arg| (*arg).to_owned()));
        assert_eq!(path(&["up", "--no-such-flag"]), "kueue-lab up");
        assert_eq!(path(&["explain", "wl", "-x"]), "kueue-lab explain workload");
        assert_eq!(path(&["--no-such-flag", "up"]), "kueue-lab");
    }

    #[test]
    fn a_usage_error_is_no_change_of_a_plan() {
        let code = |args: &[&str]| usage_error_code(args.iter().map(|arg| (*arg).to_owned()));
        assert_eq!(code(&["plan", "--bogus"]), 2);
        assert_eq!(code(&["plan", "--detailed-exitcode", "--bogus"]), 1);
    }
}
