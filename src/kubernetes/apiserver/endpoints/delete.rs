//! The delete and deletecollection handlers: immediate, graceful, or after finalizers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::admission_chain::{AdmissionChain, OperationOptions};
use super::after_commit::after_commit;
use super::delete_options::DeleteOptions;
use super::deletion_effect::{DeletionEffect, plan_deletion};
use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::{crd_lifecycle, list, namespace_deletion};
use crate::plugins::Operation;
use crate::storage::{CommitError, Object, PendingObject, ResourceStorage, Store};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// The outcome of a delete.
pub(super) enum DeleteOutcome {
    /// The object is removed (or would be, in a dry run).
    Removed(Value),
    /// The object is marked terminating and stays stored.
    Terminating(Value),
}

impl DeleteOutcome {
    /// The outcome with the object in the request's API version.
    fn in_request_version(mut self, call: &RequestContext<'_>) -> Result<Self, ApiError> {
        if !call.served.is_storage_version() {
            let (Self::Removed(object) | Self::Terminating(object)) = &mut self;
            call.core
                .version_converter()
                .to_served_version(&call.served, object)?;
        }
        Ok(self)
    }
}

/// Handles DELETE of a named object.
pub(super) async fn delete(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let options = DeleteOptions::from_request(call)?;
    let name = &call.path.name;
    let deleted = delete_named(call, &options, name).await?;
    Ok(match deleted {
        DeleteOutcome::Terminating(object) => {
            let accepted = options.orphan_dependents == Some(false);
            call.transformer
                .value_response(if accepted { 202 } else { 200 }, &object)
        }
        DeleteOutcome::Removed(object) if returns_deleted_object(call) => {
            call.transformer.value_response(200, &object)
        }
        DeleteOutcome::Removed(object) => {
            ApiResponse::value(200, call.transformer.accept, &success_status(call, &object))
        }
    })
}

/// Whether the response to a delete is the deleted object instead of a Status.
fn returns_deleted_object(call: &RequestContext<'_>) -> bool {
    const KINDS: [&str; 10] = [
        "csidrivers",
        "csinodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "storageclasses",
    ];
    matches!(&*call.path.group, "" | "storage.k8s.io") && KINDS.contains(&&*call.path.resource)
}

/// Handles DELETE of a collection.
pub(super) async fn delete_collection(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let options = DeleteOptions::from_request(call)?;
    let page = list::list_page(call)?;
    let mut items = Vec::with_capacity(page.objects.len());
    for object in &page.objects {
        let name = object.key().rsplit('/').next().unwrap_or_default();
        let namespace = object.key().rsplit_once('/').map_or("", |(ns, _)| ns);
        match delete_in_namespace(call, &options, namespace, name).await {
            Ok(_) => items.push((*call.transformer.decoded(object)?).clone()),
            Err(e) if e.reason == StatusReason::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    let list = json!({
        "kind": &*call.served.kind.list_kind,
        "apiVersion": call.served.api_version,
        "metadata": {"resourceVersion": page.revision.to_string()},
        "items": items,
    });
    Ok(ApiResponse::value(200, call.transformer.accept, &list))
}

fn success_status(call: &RequestContext<'_>, object: &Value) -> Value {
    let mut details = json!({
        "name": object_meta::meta_str(object, "name"),
        "kind": &*call.served.kind.plural,
        "uid": object_meta::meta_str(object, "uid"),
    });
    if !call.path.group.is_empty() {
        details["group"] = call.path.group.as_str().into();
    }
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    })
}

/// Deletes one object in the request's namespace.
pub(super) async fn delete_named(
    call: &RequestContext<'_>,
    options: &DeleteOptions,
    name: &str,
) -> Result<DeleteOutcome, ApiError> {
    delete_in_namespace(call, options, call.namespace(), name).await
}

async fn delete_in_namespace(
    call: &RequestContext<'_>,
    options: &DeleteOptions,
    namespace: &str,
    name: &str,
) -> Result<DeleteOutcome, ApiError> {
    let storage = call.storage()?;
    let key = crate::storage::key::storage_key(namespace, name);
    loop {
        let Some(present) = storage.get(&key) else {
            return Err(call.not_found(name));
        };
        let old = call.transformer.decoded(&present)?;
        check_preconditions(call, options, &old)?;
        // The deletion by an Eviction is not admitted once more.
        if call.path.subresource.is_empty() {
            let admitting = AdmissionChain {
                context: call,
                operation: Operation::Delete,
                name,
                subresource_kind: None,
                old: Some(&old),
                options: OperationOptions::Delete(options),
            };
            admitting.validate(&Value::Null).await?;
        }
        // The deletion is planned in the storage version, whatever the request's API version is.
        let stored = present.value();
        let special = namespace_deletion::plan_deletion(call, &stored)
            .or_else(|| crd_lifecycle::plan_deletion(call, &stored));
        let next = match special {
            Some(next) => next,
            None => plan_deletion(call, options, &stored),
        };
        match commit_deletion(call, options, &present, next) {
            Ok(deleted) => {
                after_commit(call.core, &call.served, &key);
                return deleted.in_request_version(call);
            }
            Err(CommitError::KeyNotFound) => return Err(call.not_found(name)),
            Err(CommitError::ResourceVersionConflict(_)) => {}
            Err(_) => return Err(ApiError::no_such_resource()),
        }
    }
}

fn check_preconditions(
    call: &RequestContext<'_>,
    options: &DeleteOptions,
    old: &Value,
) -> Result<(), ApiError> {
    let conflict = |reason: String| {
        let kind = &call.served.kind;
        // As in Kubernetes, the error names the kind here, not the resource.
        ApiError::conflict(
            &kind.group,
            &kind.kind,
            object_meta::meta_str(old, "name"),
            &reason,
        )
    };
    let uid = object_meta::meta_str(old, "uid");
    if let Some(requested) = options.uid.as_deref().filter(|requested| *requested != uid) {
        return Err(conflict(format!(
            "the UID in the precondition ({requested}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
        )));
    }
    let version = object_meta::meta_str(old, "resourceVersion");
    if let Some(requested) = options
        .resource_version
        .as_deref()
        .filter(|requested| *requested != version)
    {
        return Err(conflict(format!(
            "the ResourceVersion in the precondition ({requested}) does not match the ResourceVersion in record ({version}). The object might have been modified"
        )));
    }
    Ok(())
}

fn commit_deletion(
    call: &RequestContext<'_>,
    options: &DeleteOptions,
    present: &Arc<Object>,
    next: DeletionEffect,
) -> Result<DeleteOutcome, CommitError> {
    let old = present.value();
    let Some(storage) = &call.served.storage else {
        return Err(CommitError::Closed);
    };
    let store = &call.core.store;
    match next {
        DeletionEffect::AlreadyTerminating => Ok(DeleteOutcome::Terminating((*old).clone())),
        DeletionEffect::Remove(last) if options.dry_run => Ok(DeleteOutcome::Removed(last)),
        DeletionEffect::MarkTerminating(new) if options.dry_run => {
            Ok(DeleteOutcome::Terminating(new))
        }
        DeletionEffect::Remove(last) => {
            if object_meta::is_terminating(&last) && !object_meta::is_terminating(&old) {
                // Graceful deletion, even with a period of 0, emits a MODIFIED event before
                // DELETED.
                let marked = replacement(present, last.clone())?;
                let marked = store.replace(storage, present.key(), present.revision(), marked)?;
                return remove_marked(store, storage, marked, last);
            }
            let removed = replacement(present, last)?;
            let removed = store.remove(storage, present.key(), present.revision(), removed)?;
            Ok(DeleteOutcome::Removed((*removed.value()).clone()))
        }
        DeletionEffect::MarkTerminating(new) => {
            let pending = replacement(present, new)?;
            let marked = store.replace(storage, present.key(), present.revision(), pending)?;
            Ok(DeleteOutcome::Terminating((*marked.value()).clone()))
        }
    }
}

/// Removes an object that this request marked terminating. Another client, such as the kubelet, can
/// write or remove it first: a removal by another client counts as this one, with `last` as the
/// approximate last state.
fn remove_marked(
    store: &Store,
    storage: &Arc<ResourceStorage>,
    mut marked: Arc<Object>,
    last: Value,
) -> Result<DeleteOutcome, CommitError> {
    let uid = object_meta::meta_str(&last, "uid").to_owned();
    loop {
        let pending = replacement(&marked, (*marked.value()).clone())?;
        match store.remove(storage, marked.key(), marked.revision(), pending) {
            Ok(removed) => return Ok(DeleteOutcome::Removed((*removed.value()).clone())),
            Err(CommitError::KeyNotFound) => return Ok(DeleteOutcome::Removed(last)),
            Err(CommitError::ResourceVersionConflict(present)) => {
                if object_meta::meta_str(&present.value(), "uid") != uid {
                    return Ok(DeleteOutcome::Removed(last));
                }
                marked = present;
            }
            Err(error) => return Err(error),
        }
    }
}

/// An object to store in place of `present`.
fn replacement(present: &Object, object: Value) -> Result<PendingObject, CommitError> {
    let pending = PendingObject::new(object).map_err(|_| CommitError::Closed)?;
    Ok(pending.with_schema_generation(present.schema_generation()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::StorageLimits;
    use kueue_lab_clock::Clock;

    const KEY: &str = "default/p";

    fn pod(phase: &str, uid: &str) -> PendingObject {
        let metadata = json!({"name": "p", "namespace": "default", "uid": uid});
        let pod = json!({"metadata": metadata, "status": {"phase": phase}});
        PendingObject::new(pod).expect("a pod")
    }

    /// Removes a pod that `other` writes after it was marked; returns the phase of the removed pod
    /// and whether a pod is stored afterwards.
    fn removed_after(other: impl FnOnce(&Store, &Arc<ResourceStorage>, u64)) -> (String, bool) {
        let store = Store::new(Clock::real(), StorageLimits::default());
        let storage = store.new_resource_storage("/things");
        let marked = store
            .create(&storage, KEY, pod("Running", "u"))
            .expect("stored");
        let last = (*marked.value()).clone();
        other(&store, &storage, marked.revision());
        match remove_marked(&store, &storage, marked, last) {
            Ok(DeleteOutcome::Removed(pod)) => {
                let phase = pod["status"]["phase"].as_str().unwrap_or_default();
                (phase.to_owned(), storage.get(KEY).is_some())
            }
            _ => panic!("the pod is not removed"),
        }
    }

    #[test]
    fn a_marked_object_that_another_client_removed_counts_as_removed() {
        let removed = removed_after(|store, storage, revision| {
            let last = pod("Running", "u");
            store.remove(storage, KEY, revision, last).expect("removed");
        });
        assert_eq!(removed, ("Running".to_owned(), false));
    }

    #[test]
    fn a_marked_object_that_another_client_wrote_is_removed() {
        let removed = removed_after(|store, storage, revision| {
            let next = pod("Failed", "u");
            store
                .replace(storage, KEY, revision, next)
                .expect("replaced");
        });
        assert_eq!(removed, ("Failed".to_owned(), false));
    }

    #[test]
    fn an_object_created_again_under_the_name_of_a_marked_one_stays() {
        let removed = removed_after(|store, storage, revision| {
            let last = pod("Running", "u");
            store.remove(storage, KEY, revision, last).expect("removed");
            store
                .create(storage, KEY, pod("Pending", "v"))
                .expect("created");
        });
        assert_eq!(removed, ("Running".to_owned(), true));
    }
}
