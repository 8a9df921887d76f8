//! `kueue-lab sky`: SkyPilot's command line for the managed jobs of a running lab.

mod cancel;
mod command;
mod launch;
mod managed_jobs;
mod queue;
mod task_args;

pub(super) use command::{Args, run};
