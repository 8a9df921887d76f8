//! `kueue-lab up`

mod choose_preset;
mod command;
mod lab_kubeconfig;
mod limits_table;

pub(super) use command::{Args, run};
