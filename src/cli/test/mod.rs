//! `kueue-lab test`: unit tests of queue configurations.

mod command;
mod find_files;
mod warning_scenario;

pub(super) use command::{Args, run};
