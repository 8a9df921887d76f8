//! Outcome of batch Jobs.

use k8s_openapi::api::batch::v1::Job;

/// Whether the Job has the condition.
fn has_condition(job: &Job, condition_type: &str) -> bool {
    let conditions = job.status.as_ref().and_then(|s| s.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|c| c.type_ == condition_type && c.status == "True")
}

/// Whether the Job is complete.
pub(super) fn is_complete(job: &Job) -> bool {
    has_condition(job, "Complete")
}

/// Whether the Job has failed.
pub(super) fn is_failed(job: &Job) -> bool {
    has_condition(job, "Failed")
}

/// Whether the Job is complete or has failed.
pub(super) fn is_finished(job: &Job) -> bool {
    is_complete(job) || is_failed(job)
}

/// Whether the Job is suspended.
pub(super) fn is_suspended(job: &Job) -> bool {
    job.spec.as_ref().and_then(|s| s.suspend) == Some(true)
}

/// The number of active pods of the Job.
pub(super) fn active(job: &Job) -> i32 {
    job.status.as_ref().and_then(|s| s.active).unwrap_or(0)
}

/// The number of ready pods of the Job.
pub(super) fn ready(job: &Job) -> i32 {
    job.status.as_ref().and_then(|s| s.ready).unwrap_or(0)
}

/// The number of succeeded pods of the Job.
pub(super) fn succeeded(job: &Job) -> i32 {
    job.status.as_ref().and_then(|s| s.succeeded).unwrap_or(0)
}

/// The number of failed pods of the Job.
pub(super) fn failed(job: &Job) -> i32 {
    job.status.as_ref().and_then(|s| s.failed).unwrap_or(0)
}
