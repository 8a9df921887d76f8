//! The command line: one file per subcommand.
//!
//! Data goes to stdout, progress and errors to stderr. Exit codes: 0 success, 1 failure, 2 invalid
//! request.

mod clock;
mod cluster_args;
mod command_line;
mod command_runtime;
mod completions;
mod config;
mod confirm;
mod controller;
mod crds;
mod demo;
mod down;
mod duration;
mod engine_explainer;
mod error;
mod explain;
mod export;
mod import;
mod kubeconfig;
mod kubeconfig_args;
mod lab_recording;
mod lab_request_error;
mod lab_time;
mod log_rate_limit;
mod logging;
mod node_pools;
mod output;
mod past_explainer;
mod picture;
mod plan;
mod play;
mod preset;
mod record;
mod recording_file;
mod replay;
mod running_lab;
mod shutdown;
mod simulate;
mod sky;
mod source_text;
mod speed;
mod test;
mod tui;
mod tui_session;
mod uninstall;
mod up;

use command_line::Cli;
use command_runtime::runtime;
use error::{CommandError, CommandErrorKind};
use shutdown::Shutdown;

pub(crate) use command_line::main;
