//! `kueue-lab sky jobs`: the managed jobs of a running lab.

mod cancel;
mod command;
mod launch;
mod managed_jobs;
mod queue;

pub(super) use command::{Args, run};
pub(super) use managed_jobs::ManagedJobObjects;
