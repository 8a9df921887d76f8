//! `GuaranteedUpdate`: read, transform, admit, validate and store, with retries on conflict.

use std::sync::Arc;

use serde_json::Value;

use super::admission_chain::{AdmissionChain, OperationOptions};
use super::after_commit::after_commit;
use super::create::{WriteOutcome, create_object};
use super::pending_object::pending_object;
use super::request_context::RequestContext;
use super::scale_conversion::{self, SCALE};
use super::write_options::WriteOptions;
use super::{crd_lifecycle, event_ttl, managed_fields, namespace_deletion, policy_status};
use crate::plugins::Operation;
use crate::storage::{CommitError, Object};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::fieldmanager::{self, scale_handler};
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::strategy::scale_paths;
use kueue_lab_field::FieldError;

/// The message of a 409 Conflict for an outdated resourceVersion.
pub(super) const OPTIMISTIC_LOCK_ERROR: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Computes the new object from the stored one; `None` when no object is stored.
pub(super) type UpdateFn<'a> =
    &'a (dyn Fn(Option<&Value>) -> Result<Value, ApiError> + Send + Sync);

/// The number of attempts before a conflict is returned.
const MAX_ATTEMPTS: usize = 32;

/// Updates the object `name` with `transform`; `uid` is the UID precondition. The bool is true when
/// the object was created.
pub(super) async fn guaranteed_update(
    call: &RequestContext<'_>,
    options: &WriteOptions,
    name: &str,
    uid: Option<&str>,
    may_create: bool,
    transform: UpdateFn<'_>,
) -> Result<(WriteOutcome, bool), ApiError> {
    let storage = call.storage()?;
    let key = call.storage_key(name);
    for _ in 0..MAX_ATTEMPTS {
        let replaced = may_create && crd_lifecycle::is_replaceable(call.core, &call.served, &key);
        let Some(present) = storage.get(&key).filter(|_| !replaced) else {
            check_uid_precondition(call, name, uid, "")?;
            if !may_create {
                return Err(call.not_found(name));
            }
            let mut object = transform(None)?;
            check_name(call, name, &mut object)?;
            check_no_uid_precondition(call, name, &object)?;
            object_meta::wipe_system_fields(&mut object);
            return Ok((create_object(call, options, object).await?, true));
        };
        match try_update(call, options, name, uid, &present, transform).await {
            Ok(Some(written)) => return Ok((written, false)),
            Ok(None) => {}
            Err(error) => return Err(error),
        }
    }
    Err(ApiError::conflict(
        &call.path.group,
        &call.path.resource,
        name,
        OPTIMISTIC_LOCK_ERROR,
    ))
}

/// Updates an object without admission and without the update strategy of its kind.
pub(super) fn update_without_admission(
    call: &RequestContext<'_>,
    options: &WriteOptions,
    name: &str,
    transform: &(dyn Fn(&Value) -> Result<Value, ApiError> + Send + Sync),
) -> Result<(), ApiError> {
    let (storage, key) = (call.storage()?, call.storage_key(name));
    loop {
        let present = storage.get(&key).ok_or_else(|| call.not_found(name))?;
        let new = transform(&*call.transformer.decoded(&present)?)?;
        if options.dry_run {
            return Ok(());
        }
        let pending = pending_object(new)?;
        match call
            .core
            .store
            .replace(storage, &key, present.revision(), pending)
        {
            Ok(_) => return Ok(()),
            Err(CommitError::ResourceVersionConflict(_)) => {}
            Err(CommitError::KeyNotFound) => return Err(call.not_found(name)),
            Err(_) => return Err(ApiError::no_such_resource()),
        }
    }
}

/// One attempt; `None` on a write conflict.
async fn try_update(
    call: &RequestContext<'_>,
    options: &WriteOptions,
    name: &str,
    uid: Option<&str>,
    present: &Arc<Object>,
    transform: UpdateFn<'_>,
) -> Result<Option<WriteOutcome>, ApiError> {
    let kind = &call.served.kind;
    let old = call.transformer.decoded(present)?;
    check_uid_precondition(call, name, uid, object_meta::meta_str(&old, "uid"))?;
    let mut new = transform(Some(&old))?;
    check_name(call, name, &mut new)?;
    let has_resource_version = check_resource_version(call, name, &new, present)?;
    let revision = present.revision().to_string();
    object_meta::meta_mut(&mut new).insert("resourceVersion".into(), revision.into());
    object_meta::dedup_owner_references(&mut new);
    kind.strategy.set_defaults(&mut new);
    managed_fields::update_managed_fields(call, options, Some(&old), &mut new);
    let scaled = call.path.subresource == "scale";
    if scaled {
        let path = scale_conversion::replicas_path(call);
        let api_version = &call.served.api_version;
        scale_handler::to_parent(&old, &mut new, scale_paths::fields(&path), api_version);
    }
    // Admission of a scale subresource is about the Scale.
    let old_scale = scaled.then(|| scale_conversion::scale_from_object(call, &old));
    let admitting = AdmissionChain {
        context: call,
        operation: Operation::Update,
        name,
        subresource_kind: scaled.then_some(SCALE),
        old: Some(old_scale.as_ref().unwrap_or(&old)),
        options: OperationOptions::Write(options),
    };
    if scaled {
        let given = scale_conversion::scale_from_object(call, &new);
        let mut scale = given.clone();
        admitting.mutate(&mut scale).await?;
        if scale != given {
            new = scale_conversion::with_replicas(call, &new, &scale)?;
        }
    } else {
        admitting.mutate(&mut new).await?;
    }
    prepare_for_update(call, &mut new, &old);
    let errors = validate(call, &new, &old);
    if !errors.is_empty() {
        return Err(ApiError::invalid(&kind.group, &kind.kind, name, &errors));
    }
    kind.strategy
        .warnings(&new, Some(&old))
        .into_iter()
        .for_each(|w| call.warn(w));
    let _checking = if scaled {
        let scale = scale_conversion::scale_from_object(call, &new);
        admitting.validate(&scale).await?
    } else {
        admitting.validate(&new).await?
    };
    fieldmanager::ignore_managed_fields_timestamps(&mut new, &old);
    if new == *old {
        return Ok(Some(WriteOutcome::Stored(present.clone())));
    }
    let is_last_finalizer_removed = object_meta::is_terminating(&old)
        && object_meta::finalizers(&new).is_empty()
        && object_meta::deletion_grace_period(&old).unwrap_or(0) == 0
        && !namespace_deletion::has_spec_finalizers(call, &new);
    if options.dry_run {
        return Ok(Some(WriteOutcome::DryRun(new)));
    }
    call.core
        .version_converter()
        .to_storage_version(&call.served, &mut new)?;
    let pending = pending_object(new)?;
    let pending = pending.with_schema_generation(call.served.schema_generation);
    let (store, storage) = (&call.core.store, call.storage()?);
    let outcome = if is_last_finalizer_removed {
        store.remove(storage, present.key(), present.revision(), pending)
    } else {
        store.replace(storage, present.key(), present.revision(), pending)
    };
    match outcome {
        Ok(object) => {
            event_ttl::record(call, &object);
            policy_status::after_commit(call, &object);
            after_commit(call.core, &call.served, object.key());
            Ok(Some(WriteOutcome::Stored(object)))
        }
        // With a resourceVersion precondition a deleted object is NotFound; otherwise the next
        // attempt decides.
        Err(CommitError::KeyNotFound) if has_resource_version => Err(call.not_found(name)),
        Err(CommitError::ResourceVersionConflict(_) | CommitError::KeyNotFound) => Ok(None),
        Err(_) => Err(ApiError::no_such_resource()),
    }
}

/// 409 when the UID of a replacement is not that of the stored object, which is empty without an
/// object.
fn check_uid_precondition(
    call: &RequestContext<'_>,
    name: &str,
    uid: Option<&str>,
    stored: &str,
) -> Result<(), ApiError> {
    let Some(uid) = uid.filter(|uid| !uid.is_empty() && *uid != stored) else {
        return Ok(());
    };
    let key = call.served.etcd_key(&call.storage_key(name));
    let reason = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, \
         UID in object meta: {stored}"
    );
    let (group, plural) = (&call.path.group, &call.path.resource);
    Err(ApiError::conflict(group, plural, name, &reason))
}

/// 409 when the new object has a UID, which requires an existing object.
fn check_no_uid_precondition(
    call: &RequestContext<'_>,
    name: &str,
    object: &Value,
) -> Result<(), ApiError> {
    let uid = object_meta::meta_str(object, "uid");
    if uid.is_empty() {
        return Ok(());
    }
    let reason = format!(
        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    );
    let (group, plural) = (&call.path.group, &call.path.resource);
    Err(ApiError::conflict(group, plural, name, &reason))
}

fn check_name(call: &RequestContext<'_>, name: &str, new: &mut Value) -> Result<(), ApiError> {
    object_meta::ensure_namespace(new, call.namespace())?;
    let own = object_meta::meta_str(new, "name");
    if own.is_empty() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if own != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        )));
    }
    Ok(())
}

/// Checks the UID and resourceVersion preconditions of the new object. True when a resourceVersion
/// was set.
fn check_resource_version(
    call: &RequestContext<'_>,
    name: &str,
    new: &Value,
    present: &Object,
) -> Result<bool, ApiError> {
    let (group, plural) = (&call.path.group, &call.path.resource);
    let version = object_meta::meta_str(new, "resourceVersion");
    if version.is_empty() || version == "0" {
        if call.served.kind.strategy.allow_unconditional_update() {
            return Ok(false);
        }
        let reason = "must be specified for an update";
        let error = FieldError::invalid("metadata.resourceVersion", 0, reason);
        return Err(ApiError::invalid(group, plural, name, &[error]));
    }
    let requested: u64 = version.parse().map_err(|_| {
        let error = FieldError::invalid("metadata.resourceVersion", version, "must be a number");
        ApiError::invalid(group, &call.served.kind.kind, name, &[error])
    })?;
    if requested != present.revision() {
        return Err(ApiError::conflict(
            group,
            plural,
            name,
            OPTIMISTIC_LOCK_ERROR,
        ));
    }
    Ok(true)
}

/// Resets the fields this endpoint does not update and increments the generation, as
/// `PrepareForUpdate`.
fn prepare_for_update(call: &RequestContext<'_>, new: &mut Value, old: &Value) {
    let kind = &call.served.kind;
    let behaviour = &kind.strategy;
    let subresource = call.path.subresource.as_str();
    match subresource {
        "status" => {
            let status = new.get("status").cloned();
            let metadata = new.get("metadata").cloned();
            new.clone_from(old);
            set_field(new, "status", status);
            if call.served.custom.is_some() {
                // The status subresource of a custom resource changes only status and
                // managedFields.
                let managed = metadata.and_then(|m| m.get("managedFields").cloned());
                set_field(&mut new["metadata"], "managedFields", managed);
            } else {
                set_field(new, "metadata", metadata);
            }
        }
        "" | "scale" if kind.subresource("status").is_some() => {
            set_field(new, "status", old.get("status").cloned());
        }
        _ => {}
    }
    object_meta::keep_immutable_fields(new, old);
    match subresource {
        "" | "scale" => behaviour.prepare_for_update(new, old),
        other => behaviour.prepare_for_subresource_update(other, new, old),
    }
    if behaviour.has_generation() {
        let raise = subresource != "status" && behaviour.increments_generation(new, old);
        object_meta::set_generation(new, object_meta::generation(old) + i64::from(raise));
    }
}

/// Sets or removes a field of an object.
fn set_field(object: &mut Value, field: &str, value: Option<Value>) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    match value {
        Some(value) => {
            fields.insert(field.into(), value);
        }
        None => {
            fields.remove(field);
        }
    }
}

fn validate(call: &RequestContext<'_>, new: &Value, old: &Value) -> Vec<FieldError> {
    let behaviour = &call.served.kind.strategy;
    match call.path.subresource.as_str() {
        "" | "scale" => behaviour.validate_update(new, old),
        other => behaviour.validate_subresource_update(other, new, old),
    }
}
