//! Deletion of namespaces, which stay Terminating until their `spec.finalizers` are removed.

use serde_json::Value;

use super::deletion_effect::DeletionEffect;
use super::graceful_deletion;
use super::request_context::RequestContext;
use kueue_lab_apimachinery::object_meta;

fn is_namespace(call: &RequestContext<'_>) -> bool {
    call.path.group.is_empty() && call.path.resource == "namespaces"
}

/// Whether an object is a namespace whose spec still has finalizers.
pub(super) fn has_spec_finalizers(call: &RequestContext<'_>, object: &Value) -> bool {
    let finalizers = object.pointer("/spec/finalizers").and_then(Value::as_array);
    is_namespace(call) && finalizers.is_some_and(|f| !f.is_empty())
}

/// Plans the deletion of a namespace; `None` for other kinds and for namespaces without
/// `spec.finalizers`.
pub(super) fn plan_deletion(call: &RequestContext<'_>, old: &Value) -> Option<DeletionEffect> {
    if !is_namespace(call) {
        return None;
    }
    if object_meta::is_terminating(old) {
        return has_spec_finalizers(call, old).then_some(DeletionEffect::AlreadyTerminating);
    }
    let mut new = old.clone();
    graceful_deletion::mark_terminating(&mut new, 0, call.core.clock.now());
    object_meta::meta_mut(&mut new).remove("deletionGracePeriodSeconds");
    new["status"]["phase"] = "Terminating".into();
    Some(DeletionEffect::MarkTerminating(new))
}
