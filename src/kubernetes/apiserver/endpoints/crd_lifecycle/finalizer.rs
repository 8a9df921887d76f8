//! Finalizer of CustomResourceDefinitions: deletes the instances of a terminating definition.

use std::sync::Arc;

use serde_json::{Value, json};

use super::condition::Condition;
use super::deletion::CLEANUP_FINALIZER;
use crate::endpoints::graceful_deletion;
use crate::registry::CrdNames;
use crate::server_state::ServerState;
use crate::storage::{CommitError, PendingObject, ResourceStorage};
use kueue_lab_apimachinery::object_meta;

/// Deletes the instances of a terminating definition. True when none remain and the definition can
/// be removed.
pub(super) fn delete_instances(core: &ServerState, definition: &mut Value) -> bool {
    let now = object_meta::metav1_time(core.clock.now());
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let names = CrdNames::of(&definition["status"]["acceptedNames"]);
    let table = core.registry.table();
    let versions = table.group(group).into_iter().flat_map(|g| &g.versions);
    let served = versions
        .flat_map(|v| &v.resources)
        .find(|s| *s.kind.plural == *names.plural)
        .and_then(|s| s.storage.clone());
    let (status, reason, message) = match served {
        None => (false, "NeverEstablished", "resource was never established"),
        Some(storage) => {
            delete_all_objects(core, &storage);
            if storage.is_empty() {
                (false, "InstanceDeletionCompleted", "removed all instances")
            } else {
                (
                    true,
                    "InstanceDeletionInProgress",
                    "CustomResource deletion is in progress",
                )
            }
        }
    };
    let done = !status;
    let message = message.to_string();
    Condition {
        condition_type: "Terminating",
        status,
        reason,
        message,
    }
    .set(&mut definition["status"], &now);
    if !done {
        return false;
    }
    let mut finalizers = object_meta::finalizers(definition);
    finalizers.retain(|f| f != CLEANUP_FINALIZER);
    let fields = object_meta::meta_mut(definition);
    if finalizers.is_empty() {
        fields.remove("finalizers");
        return true;
    }
    fields.insert("finalizers".into(), json!(finalizers));
    false
}

/// Deletes every object of a storage; objects with finalizers are marked terminating.
fn delete_all_objects(core: &ServerState, storage: &Arc<ResourceStorage>) {
    let snapshot = core.store.snapshot(storage);
    for object in snapshot.scan("", None) {
        let mut present = object.clone();
        loop {
            let value = present.value();
            let held = !object_meta::finalizers(&value).is_empty();
            if held && object_meta::is_terminating(&value) {
                break;
            }
            let mut last = (*value).clone();
            if held {
                graceful_deletion::mark_terminating(&mut last, 0, core.clock.now());
            }
            let Ok(pending) = PendingObject::new(last) else {
                break;
            };
            let pending = pending.with_schema_generation(present.schema_generation());
            let (key, revision) = (present.key().to_string(), present.revision());
            let outcome = if held {
                core.store.replace(storage, &key, revision, pending)
            } else {
                core.store.remove(storage, &key, revision, pending)
            };
            match outcome {
                Err(CommitError::ResourceVersionConflict(newer)) => present = newer,
                _ => break,
            }
        }
    }
}
