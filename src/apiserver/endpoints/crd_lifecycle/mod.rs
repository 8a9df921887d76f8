//! The life of CustomResourceDefinitions: names accepted, kinds served, instances cleaned up.
//!
//! Everything happens within the request that causes it: when the answer to a definition's creation
//! is sent, its kinds are served.

mod condition;
mod finalizer;
mod naming;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::delete::DeletionPlan;
use super::graceful_deletion;
use super::request_context::RequestContext;
use crate::apimachinery::object_meta;
use crate::registry::{CrdNames, CrdSpec, ServedResource};
use crate::server_state::ServerState;
use crate::storage::{CommitError, Object, PendingObject, ResourceStorage};
use condition::{Condition, is_true};
use finalizer::delete_instances;
use naming::sync_names;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

fn is_definition(served: &ServedResource) -> bool {
    &*served.kind.plural == PLURAL && &*served.kind.group == GROUP
}

/// Where definitions are stored.
pub(crate) fn crd_storage(core: &ServerState) -> Option<Arc<ResourceStorage>> {
    core.registry.find(GROUP, "v1", PLURAL)?.storage.clone()
}

/// What follows from a commit to an object of a kind.
pub(super) fn after_commit(core: &ServerState, served: &ServedResource, key: &str) {
    if is_definition(served) {
        sync_crd(core, key);
    } else if let Some(custom) = served.custom.as_ref().filter(|c| c.terminating)
        && served.storage.as_ref().is_some_and(|s| s.is_empty())
    {
        sync_crd(core, &custom.definition.name);
    }
}

/// What a delete does to a definition the first time; `None` for all else.
pub(super) fn plan_deletion(call: &RequestContext<'_>, old: &Value) -> Option<DeletionPlan> {
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
    Some(DeletionPlan::MarkTerminating(new))
}

/// The status of a definition whose names nobody else has.
pub(crate) fn established_status(definition: &CrdSpec, now: Timestamp) -> Value {
    let now = object_meta::metav1_time(now);
    let mut status = json!({
        "acceptedNames": definition.names.to_value(),
        "storedVersions": [definition.storage_version()],
    });
    for (kind, reason, message) in [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        (
            "Established",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
    ] {
        let message = message.to_string();
        Condition {
            condition_type: kind,
            status: true,
            reason,
            message,
        }
        .set(&mut status, &now);
    }
    status
}

/// Brings the status of a definition, and what is served for it, in line with what it says. Does
/// the same for definitions of the group that wait for its names.
pub(super) fn sync_crd(core: &ServerState, name: &str) {
    let group = name.split_once('.').map_or("", |(_, group)| group);
    sync_one_crd(core, group, name);
    for object in crds_of_group(core, group) {
        let waits = !is_true(&object.value(), "NamesAccepted");
        if waits && object.key() != name {
            sync_one_crd(core, group, object.key());
        }
    }
}

fn sync_one_crd(core: &ServerState, group: &str, name: &str) {
    let Some(space) = crd_storage(core) else {
        return;
    };
    loop {
        let Some(present) = space.get(name) else {
            core.registry.stop_serving_crd(group, name);
            return;
        };
        let old = present.value();
        let mut new = (*old).clone();
        sync_names(core, name, &mut new);
        let terminating = object_meta::is_terminating(&old);
        serve_established_crd(core, &present, &new, terminating);
        let mut gone = false;
        if terminating
            && object_meta::finalizers(&old)
                .iter()
                .any(|f| f == CLEANUP_FINALIZER)
        {
            gone = delete_instances(core, &mut new);
        }
        if new == *old {
            return;
        }
        let Ok(draft) = PendingObject::new(new) else {
            return;
        };
        let revision = present.revision();
        let outcome = if gone {
            core.store.remove(&space, name, revision, draft)
        } else {
            core.store.replace(&space, name, revision, draft)
        };
        if let Err(CommitError::Closed | CommitError::KeyExists(_)) = outcome {
            return;
        }
    }
}

/// Serves what the definition defines, once its names are accepted.
fn serve_established_crd(
    core: &ServerState,
    present: &Arc<Object>,
    definition: &Value,
    terminating: bool,
) {
    if !is_true(definition, "Established") {
        return;
    }
    let schema = |version: usize| {
        let object = present.clone();
        let source = move || {
            let path = format!("/spec/versions/{version}/schema/openAPIV3Schema");
            object.value().pointer(&path).cloned().unwrap_or_default()
        };
        Arc::new(source) as crate::registry::SchemaSource
    };
    let mut outline = CrdSpec::from_object(definition, schema);
    outline.names = CrdNames::of(&definition["status"]["acceptedNames"]);
    let (uid, generation) = (
        object_meta::meta_str(definition, "uid"),
        object_meta::generation(definition),
    );
    let identity = format!("{uid} {generation} {:?}", outline.names);
    core.registry.serve_crd(outline, &identity, terminating);
}

fn crds_of_group(core: &ServerState, group: &str) -> Vec<Arc<Object>> {
    let Some(space) = crd_storage(core) else {
        return Vec::new();
    };
    let snapshot = core.store.snapshot(&space);
    let suffix = format!(".{group}");
    snapshot
        .scan("", None)
        .filter(|o| o.key().ends_with(&suffix))
        .cloned()
        .collect()
}
