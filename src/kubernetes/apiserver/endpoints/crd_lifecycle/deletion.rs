//! Deletion of a CustomResourceDefinition, which waits for the deletion of its custom resources.

use serde_json::{Value, json};

use super::condition::Condition;
use super::sync::is_definition;
use crate::endpoints::deletion_effect::DeletionEffect;
use crate::endpoints::graceful_deletion;
use crate::endpoints::request_context::RequestContext;
use kueue_lab_apimachinery::object_meta;

pub(crate) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Plans the first deletion of a CustomResourceDefinition; `None` for other kinds.
pub(crate) fn plan_deletion(call: &RequestContext<'_>, old: &Value) -> Option<DeletionEffect> {
    if !is_definition(&call.served) || object_meta::is_terminating(old) {
        return None;
    }
    let now = call.core.clock.now();
    let mut new = old.clone();
    graceful_deletion::mark_terminating(&mut new, 0, now);
    object_meta::meta_mut(&mut new).remove("deletionGracePeriodSeconds");
    let mut finalizers = object_meta::finalizers(old);
    if !finalizers.iter().any(|f| f == CLEANUP_FINALIZER) {
        finalizers.push(CLEANUP_FINALIZER.into());
    }
    object_meta::meta_mut(&mut new).insert("finalizers".into(), json!(finalizers));
    let pending = Condition {
        condition_type: "Terminating",
        status: true,
        reason: "InstanceDeletionPending",
        message:
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
                .into(),
    };
    pending.set(&mut new["status"], &object_meta::metav1_time(now));
    Some(DeletionEffect::MarkTerminating(new))
}
