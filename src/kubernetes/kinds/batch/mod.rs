//! Jobs and CronJobs.

pub(crate) mod completion_indexes;
pub(crate) mod cronjob;
pub(crate) mod job;
mod job_status;
mod job_update;
mod pod_failure_policy;
mod success_policy;
