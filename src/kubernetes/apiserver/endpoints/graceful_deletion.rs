//! Graceful deletion, which only pods support.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::registry::ServedResource;
use kueue_lab_apimachinery::object_meta;

/// The outcome of `BeforeDelete` for one object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GracefulDeletion {
    /// The kind does not support graceful deletion.
    NotSupported,
    /// The object is already terminating, and the requested period is not shorter.
    Pending,
    /// `new` is marked terminating with this grace period in seconds; 0 removes it immediately.
    Marked(i64),
}

/// Whether the kind supports graceful deletion.
fn is_graceful(served: &ServedResource) -> bool {
    served.kind.group.is_empty() && &*served.kind.plural == "pods"
}

/// Determines the grace period of a delete and marks `new` terminating.
pub(super) fn before_delete(
    served: &ServedResource,
    new: &mut Value,
    requested: Option<i64>,
    now: Timestamp,
) -> GracefulDeletion {
    if !is_graceful(served) {
        return GracefulDeletion::NotSupported;
    }
    // A negative period means the minimum of 1 s.
    let requested = requested.map(|s| if s < 0 { 1 } else { s });
    if object_meta::is_terminating(new) {
        return shorten_grace_period(new, requested, now);
    }
    let seconds = pod_grace_period(new, requested);
    mark_terminating(new, seconds, now);
    if object_meta::generation(new) > 0 {
        object_meta::set_generation(new, object_meta::generation(new) + 1);
    }
    GracefulDeletion::Marked(seconds)
}

/// The grace period of a pod that is not terminating yet.
fn pod_grace_period(pod: &Value, requested: Option<i64>) -> i64 {
    let specified = || {
        pod.pointer("/spec/terminationGracePeriodSeconds")
            .and_then(Value::as_i64)
    };
    let text = |path: &str| {
        pod.pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    // Pods that are unscheduled or finished are deleted immediately.
    if text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Failed" | "Succeeded")
    {
        return 0;
    }
    match requested.or_else(specified).unwrap_or(0) {
        seconds if seconds < 0 => 1,
        seconds => seconds,
    }
}

/// Shortens the grace period of a terminating object; it cannot be extended.
fn shorten_grace_period(
    new: &mut Value,
    requested: Option<i64>,
    now: Timestamp,
) -> GracefulDeletion {
    let present = object_meta::deletion_grace_period(new).unwrap_or(0);
    if present == 0 {
        return GracefulDeletion::Marked(0);
    }
    let Some(requested) = requested.filter(|s| *s < present) else {
        return GracefulDeletion::Pending;
    };
    let until = object_meta::meta_str(new, "deletionTimestamp")
        .parse::<Timestamp>()
        .unwrap_or(now);
    let new_deadline = until
        .saturating_add(SignedDuration::from_secs(requested - present))
        .unwrap_or(now);
    let (until, seconds) = if new_deadline < now {
        // The new deadline has passed: use the shortest graceful period, 1 s.
        (now, if requested == 0 { 0 } else { 1 })
    } else {
        (new_deadline, requested)
    };
    let fields = object_meta::meta_mut(new);
    fields.insert("deletionTimestamp".into(), object_meta::metav1_time(until));
    fields.insert("deletionGracePeriodSeconds".into(), seconds.into());
    GracefulDeletion::Marked(seconds)
}

/// Sets `deletionTimestamp` and `deletionGracePeriodSeconds`.
pub(super) fn mark_terminating(object: &mut Value, seconds: i64, now: Timestamp) {
    let until = now
        .saturating_add(SignedDuration::from_secs(seconds))
        .unwrap_or(now);
    let fields = object_meta::meta_mut(object);
    fields.insert("deletionTimestamp".into(), object_meta::metav1_time(until));
    fields.insert("deletionGracePeriodSeconds".into(), seconds.into());
}
