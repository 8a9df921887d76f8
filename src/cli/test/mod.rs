//! `kueue-lab test`: unit tests of queue configurations.

mod command;
mod find_files;
mod warning_scenario;
mod watched_files;

pub(super) use command::{Args, run};
