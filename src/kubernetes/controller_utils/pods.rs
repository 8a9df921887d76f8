//! Properties of pods: active, ready, terminating, controller. Must not depend on any controller.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use kube::ResourceExt;
use kueue_lab_controller_runtime::controller_of;

/// The phase; empty if none was reported.
pub fn phase(pod: &Pod) -> &str {
    let phase = pod.status.as_ref().and_then(|s| s.phase.as_deref());
    phase.unwrap_or_default()
}

/// Whether the pod is terminal: Succeeded or Failed.
pub fn is_terminal(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether the pod is active: neither terminal nor being deleted.
pub fn is_active(pod: &Pod) -> bool {
    !is_terminal(pod) && !is_deleting(pod)
}

/// Whether the pod has a deletion timestamp.
pub fn is_deleting(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether the pod is being deleted and is not terminal yet.
pub fn is_terminating(pod: &Pod) -> bool {
    is_deleting(pod) && !is_terminal(pod)
}

/// The condition of that type.
pub fn condition<'a>(pod: &'a Pod, type_: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|c| c.type_ == type_)
}

/// Whether the pod is Ready.
pub fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|c| c.status == "True")
}

/// Whether the pod has been Ready for at least `seconds`.
pub fn is_available(pod: &Pod, seconds: i32, now: Timestamp) -> bool {
    is_ready(pod)
        && (seconds <= 0
            || ready_since(pod).is_some_and(|since| {
                now.duration_since(since) >= SignedDuration::from_secs(seconds.into())
            }))
}

/// Since when the pod has been Ready.
pub fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|c| c.status == "True")?;
    ready.last_transition_time.as_ref().map(|t| t.0)
}

/// Informer index by the UID of the controller.
pub const CONTROLLER_UID_INDEX: &str = "controller";

/// The values of [`CONTROLLER_UID_INDEX`].
pub fn controller_uid<K: kube::Resource>(object: &K) -> Vec<String> {
    let owner = controller_of(object.meta());
    owner.map(|o| o.uid.clone()).into_iter().collect()
}

/// Informer index by node.
pub const ON_NODE: &str = "node";

/// The values of [`ON_NODE`].
pub fn on_node(pod: &Pod) -> Vec<String> {
    node_of(pod).map(str::to_string).into_iter().collect()
}

/// Informer index of terminal pods, all under one value.
pub const ENDED: &str = "ended";

/// The values of [`ENDED`].
pub fn ended(pod: &Pod) -> Vec<String> {
    is_terminal(pod).then(String::new).into_iter().collect()
}

/// The node the pod is bound to.
pub fn node_of(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref().and_then(|s| s.node_name.as_deref());
    node.filter(|n| !n.is_empty())
}

/// Whether the object carries that finalizer.
pub fn has_finalizer<K: kube::Resource>(object: &K, finalizer: &str) -> bool {
    let finalizers = object.meta().finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|f| f == finalizer)
}

/// The highest restart count of the pod's containers.
fn restarts(pod: &Pod) -> i32 {
    let statuses = pod
        .status
        .as_ref()
        .and_then(|s| s.container_statuses.as_ref());
    let counts = statuses.into_iter().flatten().map(|s| s.restart_count);
    counts.max().unwrap_or(0)
}

/// The deletion order of surplus pods, cheapest first.
pub fn compare_active_pods(a: &Pod, b: &Pod) -> Ordering {
    order(a, (0, 0), b, (0, 0))
}

/// [`compare_active_pods`] with deletion cost (an annotation) and rank, such as the number of
/// related pods on the node: of pods in the same state, first the lower cost, then the higher rank.
pub fn compare_active_pods_with_ranks(a: &Pod, rank_a: usize, b: &Pod, rank_b: usize) -> Ordering {
    order(a, (deletion_cost(a), rank_a), b, (deletion_cost(b), rank_b))
}

fn order(
    a: &Pod,
    (cost_a, rank_a): (i32, usize),
    b: &Pod,
    (cost_b, rank_b): (i32, usize),
) -> Ordering {
    let assigned = |p: &Pod| node_of(p).is_some();
    let stage = |p: &Pod| match phase(p) {
        "Pending" => 0,
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    };
    assigned(a)
        .cmp(&assigned(b))
        .then_with(|| stage(a).cmp(&stage(b)))
        .then_with(|| is_ready(a).cmp(&is_ready(b)))
        .then_with(|| cost_a.cmp(&cost_b))
        .then_with(|| rank_b.cmp(&rank_a))
        .then_with(|| later_first(ready_since(a), ready_since(b)))
        .then_with(|| restarts(b).cmp(&restarts(a)))
        .then_with(|| later_first(created(a), created(b)))
        .then_with(|| a.name_any().cmp(&b.name_any()))
}

/// The annotation `controller.kubernetes.io/pod-deletion-cost`, by default 0.
fn deletion_cost(pod: &Pod) -> i32 {
    let cost = pod
        .annotations()
        .get("controller.kubernetes.io/pod-deletion-cost");
    cost.and_then(|c| c.parse().ok()).unwrap_or(0)
}

/// When the object was created.
pub fn created<K: kube::Resource>(object: &K) -> Option<Timestamp> {
    object.meta().creation_timestamp.as_ref().map(|t| t.0)
}

/// No time before a late one before an early one.
fn later_first(a: Option<Timestamp>, b: Option<Timestamp>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(a), Some(b)) => b.cmp(&a),
    }
}

/// When the pod finished: from its containers if all are terminated, otherwise from its Ready
/// condition, its deletion timestamp or its creation.
pub fn finished_at(pod: &Pod) -> Timestamp {
    containers_finished(pod)
        .or_else(|| {
            let unready = condition(pod, "Ready").filter(|c| c.status == "False")?;
            unready.last_transition_time.as_ref().map(|t| t.0)
        })
        .or_else(|| {
            let deadline = pod.metadata.deletion_timestamp.as_ref()?.0;
            let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
            deadline.checked_sub(SignedDuration::from_secs(grace)).ok()
        })
        .or_else(|| created(pod))
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

fn containers_finished(pod: &Pod) -> Option<Timestamp> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    let mut last = None;
    for status in statuses {
        let terminated = status.state.as_ref()?.terminated.as_ref()?;
        let finished = terminated.finished_at.as_ref()?.0;
        last = last.max(Some(finished));
    }
    last
}
