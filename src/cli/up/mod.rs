//! `kueue-lab up`

mod choose_preset;
mod command;
mod lab_kubeconfig;

pub(super) use command::{Args, run};
