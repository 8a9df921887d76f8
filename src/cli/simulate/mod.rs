//! `kueue-lab simulate`: whether workloads would be admitted to a cluster now.

mod command;
mod create_object;
mod make_workloads;
mod queue_objects;
mod submission;
mod text;
mod why_no_workload;

pub(super) use command::{Args, run};
