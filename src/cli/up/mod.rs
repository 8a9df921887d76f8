//! `kueue-lab up`

mod choose_preset;
mod command;
mod lab_kubeconfig;
mod limits_table;
mod workers_args;

pub(super) use command::{Args, run};
