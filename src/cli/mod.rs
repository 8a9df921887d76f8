//! The command line: one file per subcommand, flags into calls, results into text.
//!
//! Data goes to stdout, progress and complaints to stderr. Exit codes: 0 done, 1 failed, 2 the
//! request itself was wrong.

mod cluster_args;
mod completions;
mod config;
mod confirm;
mod controller;
mod crds;
mod demo;
mod down;
mod explain;
mod kubeconfig_args;
mod logging;
mod signals;
mod speed;
mod tui;
mod tui_session;
mod uninstall;
mod up;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  kueue-lab up                                  a lab with a terminal UI
  kueue-lab up --headless --preset team-cohort  a lab for scripts; prints `ready KUBECONFIG`
  kueue-lab up --cluster kind                   the same on kind; `kueue-lab down` ends it
  kueue-lab demo                                what stories there are
  kueue-lab demo skypilot-priority-preemption --headless
  kueue-lab tui --context kind-kueue            the terminal UI on another cluster
  kueue-lab explain workload job-train-5f2c1    why it waits
  kueue-lab crds | kubectl apply --server-side -f -";

/// The whole Kueue laboratory: admission controller, embedded Kubernetes API, fake GPUs, live queue
/// presets and a terminal UI in one binary.
#[derive(Debug, Parser)]
#[command(name = "kueue-lab", version, about, after_help = EXAMPLES, max_term_width = 100)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(up::Args),
    Down(down::Args),
    Demo(demo::Args),
    Tui(tui::Args),
    Explain(explain::Args),
    Crds(crds::Args),
    Controller(controller::Args),
    Uninstall(uninstall::Args),
    Completions(completions::Args),
}

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
enum CliError {
    /// What was asked for is wrong. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// It went wrong. Exit code 1.
    #[error("{0}")]
    Failed(String),
}

impl CliError {
    fn usage(error: impl std::fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }

    fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Parses the command line, runs the subcommand and turns its outcome into an exit code:
/// 0 done, 1 failed, 2 the request itself was wrong.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report_usage_error(&error),
    };
    let outcome = match cli.command {
        Command::Up(args) => up::run(args),
        Command::Down(args) => down::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Tui(args) => tui::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Crds(args) => crds::run(args),
        Command::Controller(args) => controller::run(args),
        Command::Uninstall(args) => uninstall::run(args),
        Command::Completions(args) => completions::run(args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("kueue-lab: {failure}");
            ExitCode::from(match failure {
                CliError::Usage(_) => 2,
                CliError::Failed(_) => 1,
            })
        }
    }
}

/// Help and version as clap prints them; a mistake in one line.
fn report_usage_error(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody is there to tell when stdout is closed.
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
            let told: Vec<&str> = lines
                .take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more information"))
                .map(|l| l.trim_start_matches("error: "))
                .collect();
            eprintln!("kueue-lab: {}; see kueue-lab --help", told.join("; "));
            ExitCode::from(2)
        }
    }
}

/// A runtime for commands that wait for things.
fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| CliError::Failed(format!("cannot start the async runtime: {e}")))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
