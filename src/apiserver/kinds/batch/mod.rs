//! Jobs and CronJobs.

pub mod completion_indexes;
pub mod cronjob;
pub mod job;
mod job_status;
mod job_update;
mod pod_failure_policy;
mod success_policy;
