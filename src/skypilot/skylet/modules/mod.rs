//! The modules that SkyPilot's generated programs import.

mod host;
mod jobs;
mod logs;
mod managed_job_logs;
mod managed_jobs;
mod standard;

pub(crate) use host::Modules;
