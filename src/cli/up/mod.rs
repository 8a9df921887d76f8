//! `kueue-lab up`

mod choose_preset;
mod command;
mod failed_starts;
mod lab_kubeconfig;
mod limits_table;
mod plan_review;
mod start_source;
mod workers_args;

pub(super) use command::{Args, run};
