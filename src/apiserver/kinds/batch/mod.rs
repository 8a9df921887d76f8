//! Jobs and cron jobs.

pub mod cron;
pub mod cronjob;
pub mod indexes;
pub mod job;
mod job_status;
mod job_update;
mod policy;
