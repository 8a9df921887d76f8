//! Graceful deletion: pods get time to end; nothing else does.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::meta;
use crate::registry::Served;

/// What grace means for one delete of one object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Grace {
    /// The kind has none.
    NotSupported,
    /// A deletion is pending, and this one asks for nothing sooner.
    Pending,
    /// The object was marked (in `new`) and has this many seconds left; 0 is gone at once.
    Given(i64),
}

/// Whether objects of the kind are given time to end.
fn is_graceful(served: &Served) -> bool {
    served.kind.group.is_empty() && &*served.kind.plural == "pods"
}

/// Decides the grace period of a delete and marks `new` with it.
pub(super) fn decide(
    served: &Served,
    new: &mut Value,
    asked: Option<i64>,
    now: Timestamp,
) -> Grace {
    if !is_graceful(served) {
        return Grace::NotSupported;
    }
    // A negative period stands for the shortest one.
    let asked = asked.map(|s| if s < 0 { 1 } else { s });
    if meta::is_terminating(new) {
        return shorten(new, asked, now);
    }
    let seconds = pod_period(new, asked);
    mark(new, seconds, now);
    if meta::generation(new) > 0 {
        meta::set_generation(new, meta::generation(new) + 1);
    }
    Grace::Given(seconds)
}

/// The period of a pod nobody has asked to go yet.
fn pod_period(pod: &Value, asked: Option<i64>) -> i64 {
    let specified = || {
        pod.pointer("/spec/terminationGracePeriodSeconds")
            .and_then(Value::as_i64)
    };
    let text = |path: &str| {
        pod.pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    // No kubelet has it, or it has ended: nothing to wait for.
    if text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Failed" | "Succeeded")
    {
        return 0;
    }
    match asked.or_else(specified).unwrap_or(0) {
        seconds if seconds < 0 => 1,
        seconds => seconds,
    }
}

/// A pending deletion can only come sooner.
fn shorten(new: &mut Value, asked: Option<i64>, now: Timestamp) -> Grace {
    let present = meta::grace(new).unwrap_or(0);
    if present == 0 {
        return Grace::Given(0);
    }
    let Some(asked) = asked.filter(|s| *s < present) else {
        return Grace::Pending;
    };
    let until = meta::text(new, "deletionTimestamp")
        .parse::<Timestamp>()
        .unwrap_or(now);
    let sooner = until
        .saturating_add(SignedDuration::from_secs(asked - present))
        .unwrap_or(now);
    let (until, seconds) = if sooner < now {
        // Its time is over already; ask for the shortest period that is still graceful.
        (now, if asked == 0 { 0 } else { 1 })
    } else {
        (sooner, asked)
    };
    let fields = meta::meta_mut(new);
    fields.insert("deletionTimestamp".into(), meta::time(until));
    fields.insert("deletionGracePeriodSeconds".into(), seconds.into());
    Grace::Given(seconds)
}

/// Marks an object as to be gone in `seconds`.
pub(super) fn mark(object: &mut Value, seconds: i64, now: Timestamp) {
    let until = now
        .saturating_add(SignedDuration::from_secs(seconds))
        .unwrap_or(now);
    let fields = meta::meta_mut(object);
    fields.insert("deletionTimestamp".into(), meta::time(until));
    fields.insert("deletionGracePeriodSeconds".into(), seconds.into());
}
