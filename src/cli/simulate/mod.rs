//! `kueue-lab simulate`: whether workloads would be admitted to a cluster now.

mod command;
mod text;

pub(super) use command::{Args, run};
