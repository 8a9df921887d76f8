//! The Job controller: runs the pods of a Job until enough have succeeded, or too many failed.
//!
//! Pure functions decide: [`sync_job::sync_job`] which pods to create and delete,
//! [`sync_job::SyncPlan::track_job_status`] and [`track_job_status::TrackedStatus::finish`] the
//! resulting status. The controller carries that out.

mod backoff;
pub mod conditions;
mod controller;
mod indexes;
mod job_pod;
mod pod_failure_policy;
mod success_policy;
mod sync_context;
mod sync_job;
mod track_job_status;

#[cfg(test)]
mod tests;

pub(crate) use controller::start;

/// The finalizer of pods that are not counted yet.
pub(crate) const JOB_TRACKING_FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// Annotation and label: the completion index of a pod.
pub const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Annotation: the number of earlier failures of the index.
pub(crate) const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// Annotation: the number of ignored failures of the index.
pub(crate) const INDEX_IGNORED_FAILURES: &str =
    "batch.kubernetes.io/job-index-ignored-failure-count";
/// The value of `spec.managedBy` for this controller.
pub(crate) const CONTROLLER_NAME: &str = "kubernetes.io/job-controller";
