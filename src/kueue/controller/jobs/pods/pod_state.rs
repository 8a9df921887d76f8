//! Predicates of a single Pod, as upstream's `util/pod`.

use std::cmp::{Ordering, Reverse};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodSpec};

use crate::jobs::role_hash::role_hash;
use crate::object_meta::{annotation, has_finalizer};
use crate::pod_util::{has_gate, is_terminated, phase};
use kueue_lab_api::constants as c;

/// Whether the pod has the admission scheduling gate.
pub(super) fn is_gated(pod: &Pod) -> bool {
    has_gate(pod, c::ADMISSION_SCHEDULING_GATE)
}

/// Whether the pod is gated or terminated.
pub(super) fn is_suspended(pod: &Pod) -> bool {
    is_terminated(pod) || is_gated(pod)
}

/// Whether the pod is terminating.
pub(super) fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether the pod is not Failed, and not terminating unless it is bound to a node.
pub(super) fn is_runnable_or_succeeded(pod: &Pod) -> bool {
    let bound = pod
        .spec
        .as_ref()
        .and_then(|s| s.node_name.as_deref())
        .is_some_and(|n| !n.is_empty());
    (bound || !is_terminating(pod)) && phase(pod) != "Failed"
}

/// Whether the pod is running and within its termination grace period.
pub(super) fn is_active(pod: &Pod, now: Timestamp, fast_release: bool) -> bool {
    if phase(pod) != "Running" {
        return false;
    }
    let Some(deletion) = &pod.metadata.deletion_timestamp else {
        return true;
    };
    if fast_release {
        return false;
    }
    let Some(grace) = pod.metadata.deletion_grace_period_seconds else {
        return true;
    };
    let end = deletion
        .0
        .checked_add(jiff::SignedDuration::from_secs(grace));
    end.is_ok_and(|end| now <= end)
}

/// Whether the Ready condition is True.
pub(super) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|s| s.conditions.iter().flatten());
    let mut ready = conditions.filter(|c| c.type_ == "Ready");
    ready.next().is_some_and(|c| c.status == "True")
}

/// The role hash of the pod.
pub(super) fn pod_role_hash(pod: &Pod) -> String {
    let known = pod
        .metadata
        .annotations
        .as_ref()
        .and_then(|m| m.get(c::ROLE_HASH_ANNOTATION));
    let of_spec = || role_hash(pod.spec.as_ref().unwrap_or(&PodSpec::default()));
    known.cloned().unwrap_or_else(of_spec)
}

/// Whether the pod has the annotation that its group is not retriable.
pub(super) fn is_unretriable_pod(pod: &Pod) -> bool {
    annotation(&pod.metadata, c::RETRIABLE_IN_GROUP_ANNOTATION) == Some(c::RETRIABLE_IN_GROUP_FALSE)
}

fn has_pod_finalizer(pod: &Pod) -> bool {
    has_finalizer(&pod.metadata, c::POD_FINALIZER)
}

fn created(pod: &Pod) -> Timestamp {
    pod.metadata
        .creation_timestamp
        .as_ref()
        .map_or(Timestamp::MIN, |t| t.0)
}

/// The time of the last activity: failure, deletion, or now.
fn last_active_time(pod: &Pod, now: Timestamp) -> Timestamp {
    let conditions = pod
        .status
        .iter()
        .flat_map(|s| s.conditions.iter().flatten());
    let mut ready = conditions.filter(|c| c.type_ == "ContainersReady");
    let failed = ready
        .next()
        .filter(|c| c.status == "False" && c.reason.as_deref() == Some("PodFailed"))
        .and_then(|c| c.last_transition_time.as_ref());
    let deleted = pod.metadata.deletion_timestamp.as_ref();
    failed
        .map_or(now, |t| t.0)
        .min(deleted.map_or(now, |t| t.0))
}

/// The order in which inactive pods are kept: those with the finalizer first, then by latest
/// activity.
pub(super) fn compare_inactive_pods(a: &Pod, b: &Pod, now: Timestamp) -> Ordering {
    let rank = |pod: &Pod| {
        (
            !has_pod_finalizer(pod),
            Reverse(last_active_time(pod, now)),
            created(pod),
        )
    };
    rank(a).cmp(&rank(b))
}

/// The order in which active pods are kept: those with the finalizer first, then ungated ones, then
/// the oldest.
pub(super) fn compare_active_pods(a: &Pod, b: &Pod) -> Ordering {
    let rank = |pod: &Pod| (!has_pod_finalizer(pod), is_gated(pod), created(pod));
    rank(a).cmp(&rank(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(value: Value) -> Pod {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn overdue_pod_is_not_active() {
        let pod = pod(
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30},
            "status": {"phase": "Running"}}),
        );
        let at = |text: &str| is_active(&pod, text.parse().unwrap(), false);
        assert!(at("2026-01-01T00:00:30Z"));
        assert!(!at("2026-01-01T00:00:31Z"));
        assert!(!is_active(
            &pod,
            "2026-01-01T00:00:00Z".parse().unwrap(),
            true
        ));
    }

    #[test]
    fn pods_with_finalizer_and_running_pods_are_kept() {
        let with = |name: &str, finalizers: Value, gates: Value, created: &str| {
            pod(
                json!({"metadata": {"name": name, "finalizers": finalizers, "creationTimestamp": created},
                "spec": {"containers": [], "schedulingGates": gates}}),
            )
        };
        let finalizer = json!(["kueue.x-k8s.io/managed"]);
        let gated = json!([{"name": "kueue.x-k8s.io/admission"}]);
        let mut pods = [
            with("loose", json!([]), json!([]), "2026-01-01T00:00:00Z"),
            with("gated", finalizer.clone(), gated, "2026-01-01T00:00:00Z"),
            with(
                "young",
                finalizer.clone(),
                json!([]),
                "2026-01-01T00:00:09Z",
            ),
            with("old", finalizer, json!([]), "2026-01-01T00:00:01Z"),
        ];
        pods.sort_by(compare_active_pods);
        let names: Vec<_> = pods
            .iter()
            .filter_map(|p| p.metadata.name.as_deref())
            .collect();
        assert_eq!(names, ["old", "young", "gated", "loose"]);
    }
}
