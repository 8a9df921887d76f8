//! `runPolicy`: clean-up of finished jobs, deadline and TTL.

use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::super::observed::{Observed, parse_timestamp};
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use kueue_lab_controller_utils::pods::{is_deleting, is_terminal};

/// Deletes pods of a finished job by `cleanPodPolicy`, and the job after its TTL.
pub(super) fn clean_up(
    job: &Observed<'_>,
    policy: &Value,
    status: &Value,
    plan: &mut ReconcilePlan,
) {
    let all = policy["cleanPodPolicy"] == "All";
    if all || policy["cleanPodPolicy"] == "Running" {
        let pods = job
            .pods
            .iter()
            .filter(|pod| !is_deleting(pod) && (all || !is_terminal(pod)));
        plan.delete
            .extend(pods.map(|pod| ChildReference::of(pod.as_ref())));
    }
    let Some(seconds) = policy["ttlSecondsAfterFinished"].as_i64() else {
        return;
    };
    let ended = parse_timestamp(&status["completionTime"]).unwrap_or(job.now);
    let left = SignedDuration::from_secs(seconds).saturating_sub(job.now.duration_since(ended));
    match left > SignedDuration::ZERO {
        true => plan.requeue(left.unsigned_abs()),
        false => plan.delete_self = true,
    }
}

/// Plans the deletion of pods that are not being deleted.
pub(super) fn delete_pods<'a>(
    pods: impl IntoIterator<Item = &'a Arc<Pod>>,
    plan: &mut ReconcilePlan,
) {
    let alive = pods.into_iter().filter(|pod| !is_deleting(pod));
    plan.delete
        .extend(alive.map(|pod| ChildReference::of(pod.as_ref())));
}
