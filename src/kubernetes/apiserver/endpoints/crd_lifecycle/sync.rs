//! Reconciles CustomResourceDefinitions: accepted names, conditions, served resources.

use std::sync::Arc;

use serde_json::Value;

use super::deletion::CLEANUP_FINALIZER;
use super::finalizer::delete_instances;
use super::naming::sync_names;
use crate::registry::{CrdNames, CrdSpec, SchemaSource, ServedResource};
use crate::server_state::ServerState;
use crate::storage::{CommitError, Object, PendingObject, ResourceStorage};
use kueue_lab_apimachinery::object_meta;
use kueue_lab_json::ValueExt;

const GROUP: &str = "apiextensions.k8s.io";

const PLURAL: &str = "customresourcedefinitions";

pub(crate) fn is_definition(served: &ServedResource) -> bool {
    &*served.kind.plural == PLURAL && &*served.kind.group == GROUP
}

/// The storage of CustomResourceDefinitions.
pub(crate) fn crd_storage(core: &ServerState) -> Option<Arc<ResourceStorage>> {
    core.registry.find(GROUP, "v1", PLURAL)?.storage.clone()
}

/// Whether the object is a preinstalled definition that a new one of the same name replaces.
pub(crate) fn is_replaceable(core: &ServerState, served: &ServedResource, key: &str) -> bool {
    is_definition(served) && core.replaceable_crds.lock().contains(key)
}

/// Reconciles the definition affected by a committed write.
pub(crate) fn after_commit(core: &ServerState, served: &ServedResource, key: &str) {
    if is_definition(served) {
        core.replaceable_crds.lock().remove(key);
        sync_crd(core, key);
    } else if let Some(custom) = served.custom.as_ref().filter(|c| c.terminating)
        && served.storage.as_ref().is_some_and(|s| s.is_empty())
    {
        sync_crd(core, &custom.definition.name);
    }
}

/// Reconciles the status and the served resources of a definition, and of the definitions in its
/// group whose names are not accepted.
pub(crate) fn sync_crd(core: &ServerState, name: &str) {
    let group = name.split_once('.').map_or("", |(_, group)| group);
    sync_one_crd(core, group, name);
    for object in crds_of_group(core, group) {
        let waits = !object.value().is_condition_true("NamesAccepted");
        if waits && object.key() != name {
            sync_one_crd(core, group, object.key());
        }
    }
}

fn sync_one_crd(core: &ServerState, group: &str, name: &str) {
    let Some(storage) = crd_storage(core) else {
        return;
    };
    loop {
        let Some(present) = storage.get(name) else {
            core.registry.stop_serving_crd(group, name);
            return;
        };
        let old = present.value();
        let mut new = (*old).clone();
        sync_names(core, name, &mut new);
        let terminating = object_meta::is_terminating(&old);
        serve_established_crd(core, &present, &new, terminating);
        let mut is_deleted = false;
        if terminating
            && object_meta::finalizers(&old)
                .iter()
                .any(|f| f == CLEANUP_FINALIZER)
        {
            is_deleted = delete_instances(core, &mut new);
        }
        if new == *old {
            return;
        }
        let Ok(pending) = PendingObject::new(new) else {
            return;
        };
        let revision = present.revision();
        let outcome = if is_deleted {
            core.store.remove(&storage, name, revision, pending)
        } else {
            core.store.replace(&storage, name, revision, pending)
        };
        match outcome {
            Ok(_) | Err(CommitError::ResourceVersionConflict(_) | CommitError::KeyNotFound) => {}
            Err(_) => return,
        }
    }
}

/// Serves the versions of an established definition.
fn serve_established_crd(
    core: &ServerState,
    present: &Arc<Object>,
    definition: &Value,
    terminating: bool,
) {
    if !definition.is_condition_true("Established") {
        return;
    }
    let schema = |version: usize| {
        let object = present.clone();
        SchemaSource::new(move || {
            let path = format!("/spec/versions/{version}/schema/openAPIV3Schema");
            object.value().pointer(&path).cloned().unwrap_or_default()
        })
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

/// Reconciles all stored definitions, and those that are served.
pub(crate) fn sync_all_crds(core: &ServerState) {
    let Some(storage) = crd_storage(core) else {
        return;
    };
    let mut names = core.registry.crd_names();
    let stored = core.store.snapshot(&storage);
    // A preinstalled definition is served as it was installed.
    let stored = stored
        .scan("", None)
        .filter(|o| o.partial_metadata().is_none());
    names.extend(stored.map(|o| o.key().to_owned()));
    for name in names {
        let preinstalled = storage
            .get(&name)
            .is_some_and(|o| o.partial_metadata().is_some());
        if !preinstalled {
            sync_crd(core, &name);
        }
    }
}

pub(crate) fn crds_of_group(core: &ServerState, group: &str) -> Vec<Arc<Object>> {
    let Some(storage) = crd_storage(core) else {
        return Vec::new();
    };
    let snapshot = core.store.snapshot(&storage);
    let suffix = format!(".{group}");
    snapshot
        .scan("", None)
        .filter(|o| o.key().ends_with(&suffix))
        .cloned()
        .collect()
}
