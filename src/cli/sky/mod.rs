//! `kueue-lab sky`: SkyPilot's command line for the clusters and the managed jobs of a running lab.

mod command;
mod down;
mod exec;
mod job_args;
mod jobs;
mod launch;
mod logs;
mod status;
mod task_args;
mod user_clusters;
mod user_config;

pub(super) use command::{Args, run};
