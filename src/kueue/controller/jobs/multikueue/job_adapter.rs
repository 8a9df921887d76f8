//! The adapter of `batch/v1` Jobs.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::adapter::status_of;
use crate::jobs::batch_job::is_generated_label;

const SUSPENDED: &str = "Suspended";

fn is_suspended(job: &DynamicObject) -> bool {
    let suspend = job.data.pointer("/spec/suspend");
    suspend.and_then(Value::as_bool).unwrap_or(false)
}

fn has_true_condition(status: &Value, types: &[&str]) -> bool {
    let conditions = status.get("conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        let is = |field: &str| condition.get(field).and_then(Value::as_str);
        is("type").is_some_and(|type_| types.contains(&type_)) && is("status") == Some("True")
    })
}

/// The new status of the local Job, and whether that of the remote Job is not copied yet.
///
/// A suspended local Job does not get the status of a running one: its `startTime` would make the
/// pod template immutable. Its spec is final when it is unsuspended.
pub(super) fn status_update(
    local: &DynamicObject,
    remote: &DynamicObject,
    now: Timestamp,
) -> (Value, bool) {
    let (old, new) = (status_of(local), status_of(remote));
    if !is_suspended(local)
        || is_suspended(remote)
        || has_true_condition(&new, &["Complete", "Failed"])
    {
        return (new, false);
    }
    let status = match has_true_condition(&old, &[SUSPENDED]) {
        true => old,
        false => with_suspended_condition(old, now),
    };
    (status, true)
}

/// Adds the condition without which the API server rejects changes of the pod template.
fn with_suspended_condition(mut status: Value, now: Timestamp) -> Value {
    let now = Time(now);
    let condition = json!({
        "type": SUSPENDED, "status": "True", "reason": "MultiKueueAdapter",
        "message": "Set by MultiKueue adapter", "lastTransitionTime": now, "lastProbeTime": now,
    });
    let Some(fields) = status.as_object_mut() else {
        return status;
    };
    let conditions = fields.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.retain(|c| c.get("type").and_then(Value::as_str) != Some(SUSPENDED));
        conditions.push(condition);
    }
    status
}

/// Removes the selector and the labels of the pod template that the API server generated.
pub(super) fn remove_generated_fields(job: &mut DynamicObject) {
    let Some(spec) = job.data.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.remove("selector");
    let template = spec.get_mut("template");
    let labels = template.and_then(|template| template.pointer_mut("/metadata/labels"));
    if let Some(labels) = labels.and_then(Value::as_object_mut) {
        labels.retain(|key, _| !is_generated_label(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(suspend: bool, status: Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
            "spec": {"suspend": suspend}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn the_status_of_a_running_job_waits_for_the_local_job() {
        let running = job(false, json!({"active": 2}));
        let now = Timestamp::UNIX_EPOCH;
        let (status, deferred) = status_update(&job(true, json!({})), &running, now);
        assert!(deferred);
        assert_eq!(status["active"], Value::Null);
        assert_eq!(status["conditions"][0]["reason"], "MultiKueueAdapter");
        let local = job(true, status.clone());
        assert_eq!(status_update(&local, &running, now), (status, true));
        let (status, deferred) = status_update(&job(false, json!({})), &running, now);
        assert_eq!((&status["active"], deferred), (&json!(2), false));
    }

    #[test]
    fn the_status_of_a_finished_job_is_copied_to_a_suspended_one() {
        let done = json!({"conditions": [{"type": "Complete", "status": "True"}]});
        let finished = job(false, done.clone());
        let updated = status_update(&job(true, json!({})), &finished, Timestamp::UNIX_EPOCH);
        assert_eq!(updated, (done, false));
    }
}
