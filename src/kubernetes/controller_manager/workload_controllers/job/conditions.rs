//! Conditions of a Job.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use kueue_lab_clock::whole_seconds;

/// The Job is suspended.
pub const SUSPENDED: &str = "Suspended";
/// The Job will fail once its pods are gone.
pub(crate) const FAILURE_TARGET: &str = "FailureTarget";
/// The Job will be complete once its pods are gone.
pub(crate) const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
/// The Job has completed.
pub(crate) const COMPLETE: &str = "Complete";
/// The Job has failed.
pub const FAILED: &str = "Failed";

/// The condition of that type.
pub fn find<'a>(status: &'a JobStatus, type_: &str) -> Option<&'a JobCondition> {
    status
        .conditions
        .iter()
        .flatten()
        .find(|c| c.type_ == type_)
}

/// The condition of that type, if it is True.
pub(crate) fn find_true<'a>(status: &'a JobStatus, type_: &str) -> Option<&'a JobCondition> {
    find(status, type_).filter(|c| c.status == "True")
}

/// Whether the Job is Complete or Failed.
pub fn is_finished(job: &Job) -> bool {
    finished(job).is_some()
}

/// The True condition Complete or Failed.
pub fn finished(job: &Job) -> Option<&JobCondition> {
    let status = job.status.as_ref()?;
    find_true(status, COMPLETE).or_else(|| find_true(status, FAILED))
}

/// A True condition with the current time.
pub fn new(type_: &str, reason: &str, message: &str, now: Timestamp) -> JobCondition {
    let now = Time(whole_seconds(now));
    JobCondition {
        type_: type_.to_string(),
        status: "True".to_string(),
        last_probe_time: Some(now.clone()),
        last_transition_time: Some(now),
        reason: Some(reason.to_string()),
        message: Some(message.to_string()),
    }
}

/// Adds or updates a condition; returns whether anything changed. A False condition is not added.
pub(crate) fn ensure(status: &mut JobStatus, wanted: JobCondition) -> bool {
    let conditions = status.conditions.get_or_insert_default();
    match conditions.iter_mut().find(|c| c.type_ == wanted.type_) {
        Some(known) => {
            let same = known.status == wanted.status
                && known.reason == wanted.reason
                && known.message == wanted.message;
            if !same {
                *known = wanted;
            }
            !same
        }
        None if wanted.status == "False" => false,
        None => {
            conditions.push(wanted);
            true
        }
    }
}
