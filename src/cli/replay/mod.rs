//! `kueue-lab replay`: a trace of jobs through configurations, in virtual time.

mod command;
mod preset_configuration;
mod record;
mod workload_lists;

pub(super) use command::{Args, run};
