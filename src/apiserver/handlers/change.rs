//! Changing an object that may change under our hands: read, transform, check, store, or again.

use std::sync::Arc;

use serde_json::Value;

use super::admit::Admitting;
use super::call::Call;
use super::create::{Written, new_object};
use super::options::WriteOptions;
use super::{convert, definitions, meta, namespace, owners};
use crate::field::FieldError;
use crate::hooks::Operation;
use crate::managed;
use crate::status::ApiError;
use crate::store::{CommitError, Draft, Object};

/// What clients are told when their resourceVersion is not the present one.
pub(super) const STALE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Makes the new object out of the present one; `None` stands for no object at all.
pub(super) type Transform<'a> =
    &'a (dyn Fn(Option<&Value>) -> Result<Value, ApiError> + Send + Sync);

/// How often a change is tried when others change the object in between.
const ATTEMPTS: usize = 32;

/// Changes the object `name` as `transform` says. Also says whether it was created.
pub(super) async fn change(
    call: &Call<'_>,
    options: &WriteOptions,
    name: &str,
    may_create: bool,
    transform: Transform<'_>,
) -> Result<(Written, bool), ApiError> {
    let space = call.space()?;
    let key = call.key(name);
    for _ in 0..ATTEMPTS {
        let Some(present) = space.get(&key) else {
            if !may_create {
                return Err(call.not_found(name));
            }
            let mut object = transform(None)?;
            check_name(call, name, &mut object)?;
            check_absent(call, name, &object)?;
            meta::wipe(&mut object);
            return Ok((new_object(call, options, object).await?, true));
        };
        match change_once(call, options, name, &present, transform).await {
            Ok(Some(written)) => return Ok((written, false)),
            Ok(None) => {}
            Err(error) => return Err(error),
        }
    }
    Err(ApiError::conflict(
        &call.path.group,
        &call.path.resource,
        name,
        STALE,
    ))
}

/// Changes an object past its kind's rules and admission, as the server itself does.
pub(super) fn direct(
    call: &Call<'_>,
    options: &WriteOptions,
    name: &str,
    transform: &(dyn Fn(&Value) -> Result<Value, ApiError> + Send + Sync),
) -> Result<(), ApiError> {
    let (space, key) = (call.space()?, call.key(name));
    loop {
        let present = space.get(&key).ok_or_else(|| call.not_found(name))?;
        let new = transform(&*call.view.decoded(&present)?)?;
        if options.dry_run {
            return Ok(());
        }
        let draft = Draft::new(new).map_err(|e| ApiError::internal(e.to_string()))?;
        match call
            .core
            .store
            .replace(space, &key, present.revision(), draft)
        {
            Ok(_) => return Ok(()),
            Err(CommitError::Stale(_)) => {}
            Err(CommitError::Missing) => return Err(call.not_found(name)),
            Err(_) => return Err(ApiError::no_such_resource()),
        }
    }
}

/// One try; `None` when the object changed meanwhile.
async fn change_once(
    call: &Call<'_>,
    options: &WriteOptions,
    name: &str,
    present: &Arc<Object>,
    transform: Transform<'_>,
) -> Result<Option<Written>, ApiError> {
    let kind = &call.served.kind;
    let old = call.view.decoded(present)?;
    let mut new = transform(Some(&old))?;
    check_name(call, name, &mut new)?;
    let insisted = check_version(call, name, &new, present)?;
    let revision = present.revision().to_string();
    meta::meta_mut(&mut new).insert("resourceVersion".into(), revision.into());
    meta::dedup_owners(&mut new);
    kind.behaviour.default(&mut new);
    owners::track(call, options, Some(&old), &mut new);
    let admitting = Admitting {
        call,
        operation: Operation::Update,
        name,
        old: Some(&old),
        dry_run: options.dry_run,
    };
    admitting.mutate(&mut new).await?;
    prepare(call, &mut new, &old);
    let errors = validate(call, &new, &old);
    if !errors.is_empty() {
        return Err(ApiError::invalid(&kind.group, &kind.kind, name, &errors));
    }
    kind.behaviour
        .warnings(&new, Some(&old))
        .into_iter()
        .for_each(|w| call.warn(w));
    let _counting = admitting.validate(&new).await?;
    managed::keep_times(&mut new, &old);
    if new == *old {
        return Ok(Some(Written::Stored(present.clone())));
    }
    let gone = meta::is_terminating(&old)
        && meta::finalizers(&new).is_empty()
        && meta::grace(&old).unwrap_or(0) == 0
        && !namespace::is_held(call, &new);
    if options.dry_run {
        return Ok(Some(Written::Dry(new)));
    }
    convert::to_storage(call.core, &call.served, &mut new)?;
    let draft = Draft::new(new).map_err(|e| ApiError::internal(e.to_string()))?;
    let draft = draft.shaped(call.served.shape);
    let (store, space) = (&call.core.store, call.space()?);
    let outcome = if gone {
        store.remove(space, present.key(), present.revision(), draft)
    } else {
        store.replace(space, present.key(), present.revision(), draft)
    };
    match outcome {
        Ok(object) => {
            definitions::committed(call.core, &call.served, object.key());
            Ok(Some(Written::Stored(object)))
        }
        // The next try tells whether the client insisted on the version that is gone.
        Err(CommitError::Missing) if insisted => Err(call.not_found(name)),
        Err(CommitError::Stale(_) | CommitError::Missing) => Ok(None),
        Err(CommitError::Exists(_) | CommitError::Closed) => Err(ApiError::no_such_resource()),
    }
}

/// 409 when the object is meant to be one that exists.
fn check_absent(call: &Call<'_>, name: &str, object: &Value) -> Result<(), ApiError> {
    let uid = meta::text(object, "uid");
    if uid.is_empty() {
        return Ok(());
    }
    let why = format!(
        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    );
    let (group, plural) = (&call.path.group, &call.path.resource);
    Err(ApiError::conflict(group, plural, name, &why))
}

fn check_name(call: &Call<'_>, name: &str, new: &mut Value) -> Result<(), ApiError> {
    meta::ensure_namespace(new, call.namespace())?;
    let own = meta::text(new, "name");
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

/// Checks uid and resourceVersion in the new object against the present one. True when the client
/// named a version.
fn check_version(
    call: &Call<'_>,
    name: &str,
    new: &Value,
    present: &Object,
) -> Result<bool, ApiError> {
    let (group, plural) = (&call.path.group, &call.path.resource);
    let version = meta::text(new, "resourceVersion");
    if version.is_empty() || version == "0" {
        if call.served.kind.behaviour.updates_unconditionally() {
            return Ok(false);
        }
        let why = "must be specified for an update";
        let error = FieldError::invalid("metadata.resourceVersion", 0, why);
        return Err(ApiError::invalid(group, plural, name, &[error]));
    }
    let asked: u64 = version.parse().map_err(|_| {
        let error = FieldError::invalid("metadata.resourceVersion", version, "must be a number");
        ApiError::invalid(group, &call.served.kind.kind, name, &[error])
    })?;
    if asked != present.revision() {
        return Err(ApiError::conflict(group, plural, name, STALE));
    }
    Ok(true)
}

/// Restores what this way of writing may not change, and counts the generation.
fn prepare(call: &Call<'_>, new: &mut Value, old: &Value) {
    let kind = &call.served.kind;
    let behaviour = &kind.behaviour;
    let subresource = call.path.subresource.as_str();
    match subresource {
        "status" => {
            let status = new.get("status").cloned();
            let metadata = new.get("metadata").cloned();
            new.clone_from(old);
            put(new, "status", status);
            if call.served.custom.is_some() {
                // A status write of a custom resource changes nothing else at all.
                let managed = metadata.and_then(|m| m.get("managedFields").cloned());
                put(&mut new["metadata"], "managedFields", managed);
            } else {
                put(new, "metadata", metadata);
            }
        }
        "" | "scale" if kind.subresource("status").is_some() => {
            put(new, "status", old.get("status").cloned());
        }
        _ => {}
    }
    meta::keep(new, old);
    match subresource {
        "" | "scale" => behaviour.prepare_update(new, old),
        other => behaviour.prepare_subresource(other, new, old),
    }
    if behaviour.has_generation() {
        let raise = subresource != "status" && behaviour.raises_generation(new, old);
        meta::set_generation(new, meta::generation(old) + i64::from(raise));
    }
}

/// Sets or removes a field of an object.
fn put(object: &mut Value, field: &str, value: Option<Value>) {
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

fn validate(call: &Call<'_>, new: &Value, old: &Value) -> Vec<FieldError> {
    let behaviour = &call.served.kind.behaviour;
    match call.path.subresource.as_str() {
        "" | "scale" => behaviour.validate_update(new, old),
        other => behaviour.validate_subresource(other, new, old),
    }
}
