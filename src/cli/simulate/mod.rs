//! `kueue-lab simulate`: whether workloads would be admitted to a cluster now.

mod command;
mod construct_workloads;
mod create_object;
mod jobs_without_workload;
mod queue_objects;
mod submission;
mod text;

pub(super) use command::{Args, run};
