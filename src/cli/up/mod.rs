//! `kueue-lab up`

mod command;
mod lab_kubeconfig;

pub(super) use command::{Args, run};
