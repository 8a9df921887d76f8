//! The effect of a deletion: immediate, graceful, or after finalizers.

use serde_json::{Value, json};

use super::delete_options::DeleteOptions;
use super::graceful_deletion::{self, GracefulDeletion};
use super::request_context::RequestContext;
use kueue_lab_apimachinery::object_meta;

pub(super) const FOREGROUND: &str = "foregroundDeletion";

pub(super) const ORPHAN: &str = "orphan";

/// The effect of a delete on the stored object.
pub(super) enum DeletionEffect {
    /// None; the object is already terminating.
    AlreadyTerminating,
    /// Removes the object; holds its final state.
    Remove(Value),
    /// Marks the object terminating until its finalizers are removed or its grace period ends.
    MarkTerminating(Value),
}

pub(super) fn plan_deletion(
    call: &RequestContext<'_>,
    options: &DeleteOptions,
    old: &Value,
) -> DeletionEffect {
    let now = call.core.clock.now();
    let mut new = old.clone();
    let given =
        graceful_deletion::before_delete(&call.served, &mut new, options.grace_period_seconds, now);
    if given == GracefulDeletion::Pending {
        return DeletionEffect::AlreadyTerminating;
    }
    let finalizers = options.deletion_finalizers(call, old);
    set_finalizers(&mut new, &finalizers);
    match given {
        GracefulDeletion::Marked(seconds) if seconds > 0 => {
            return DeletionEffect::MarkTerminating(new);
        }
        _ if finalizers.is_empty() => return DeletionEffect::Remove(new),
        GracefulDeletion::NotSupported if !object_meta::is_terminating(old) => {
            graceful_deletion::mark_terminating(&mut new, 0, now);
            if object_meta::generation(old) > 0 {
                object_meta::set_generation(&mut new, object_meta::generation(old) + 1);
            }
        }
        _ => {}
    }
    if new == *old {
        DeletionEffect::AlreadyTerminating
    } else {
        DeletionEffect::MarkTerminating(new)
    }
}

fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let fields = object_meta::meta_mut(object);
    if finalizers.is_empty() {
        fields.remove("finalizers");
    } else {
        fields.insert("finalizers".into(), json!(finalizers));
    }
}
