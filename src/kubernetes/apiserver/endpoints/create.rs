//! The create handler.

use std::sync::Arc;

use serde_json::Value;

use super::admission_chain::{AdmissionChain, OperationOptions};
use super::after_commit::after_commit;
use super::pending_object::pending_object;
use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::write_options::WriteOptions;
use super::{crd_lifecycle, event_ttl, managed_fields, policy_status, request_body};
use crate::plugins::Operation;
use crate::storage::{CommitError, Object};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// The number of attempts to generate a name that is not in use.
const NAME_ATTEMPTS: usize = 8;

/// The outcome of a write.
pub(super) enum WriteOutcome {
    /// The stored object.
    Stored(Arc<Object>),
    /// The object that a dry run did not store.
    DryRun(Value),
}

impl WriteOutcome {
    /// The object in the request's API version.
    pub(super) fn value(&self, call: &RequestContext<'_>) -> Result<Arc<Value>, ApiError> {
        match self {
            Self::Stored(object) => call.transformer.decoded(object),
            Self::DryRun(value) => Ok(Arc::new(value.clone())),
        }
    }

    pub(super) fn to_response(
        &self,
        call: &RequestContext<'_>,
        status: u16,
    ) -> Result<ApiResponse, ApiError> {
        match self {
            Self::Stored(object) => call.transformer.object_response(status, object),
            Self::DryRun(value) => Ok(call.transformer.value_response(status, value)),
        }
    }
}

/// Handles POST to a collection.
pub(super) async fn create(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let options = WriteOptions::from_request(call, "CreateOptions")?;
    let mut object = request_body::decode_object(call, options.field_validation)?;
    request_body::check_api_version(call, &object)?;
    object_meta::wipe_system_fields(&mut object);
    object_meta::ensure_namespace(&mut object, call.namespace())?;
    object_meta::dedup_owner_references(&mut object);
    let written = create_object(call, &options, object).await?;
    written.to_response(call, 201)
}

/// Creates a decoded object: defaults, admission, validation, storage.
pub(super) async fn create_object(
    call: &RequestContext<'_>,
    options: &WriteOptions,
    object: Value,
) -> Result<WriteOutcome, ApiError> {
    if call.served.custom.as_ref().is_some_and(|c| c.terminating) {
        let message = "create not allowed while custom resource definition is terminating";
        let (group, plural) = (&call.path.group, &call.path.resource);
        let name = object_meta::meta_str(&object, "name");
        return Err(ApiError::forbidden(group, plural, name, message));
    }
    if !object_meta::meta_str(&object, "name").is_empty() {
        return try_create(call, options, object).await;
    }
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut named = object.clone();
        let generated = object_meta::generate_name(&mut named, &call.core.entropy);
        match try_create(call, options, named).await {
            Err(e)
                if e.reason == StatusReason::AlreadyExists
                    && generated
                    && attempt < NAME_ATTEMPTS => {}
            outcome => return outcome,
        }
    }
}

async fn try_create(
    call: &RequestContext<'_>,
    options: &WriteOptions,
    mut object: Value,
) -> Result<WriteOutcome, ApiError> {
    let core = call.core;
    let kind = &call.served.kind;
    kind.strategy.set_defaults(&mut object);
    object_meta::fill_system_fields(&mut object, &core.entropy, core.clock.now());
    managed_fields::update_managed_fields(call, options, None, &mut object);
    let name = object_meta::meta_str(&object, "name").to_string();
    let admitting = AdmissionChain {
        context: call,
        operation: Operation::Create,
        name: &name,
        subresource_kind: None,
        old: None,
        options: OperationOptions::Write(options),
    };
    admitting.mutate(&mut object).await?;
    prepare_for_create(call, &mut object);
    let errors = kind.strategy.validate_create(&object);
    if !errors.is_empty() {
        return Err(ApiError::invalid(&kind.group, &kind.kind, &name, &errors));
    }
    kind.strategy
        .warnings(&object, None)
        .into_iter()
        .for_each(|w| call.warn(w));
    let _checking = admitting.validate(&object).await?;
    store_object(call, options, &name, object)
}

/// Sets the initial state of a new object, as `PrepareForCreate`.
fn prepare_for_create(call: &RequestContext<'_>, object: &mut Value) {
    let kind = &call.served.kind;
    if kind.subresource("status").is_some()
        && !kind.strategy.keeps_status_on_create()
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("status");
    }
    kind.strategy.prepare_for_create(object);
    if kind.strategy.has_generation() {
        object_meta::set_generation(object, 1);
    } else {
        object_meta::meta_mut(object).remove("generation");
    }
}

fn store_object(
    call: &RequestContext<'_>,
    options: &WriteOptions,
    name: &str,
    mut object: Value,
) -> Result<WriteOutcome, ApiError> {
    let key = call.storage_key(name);
    let storage = call.storage()?;
    let replaced = storage
        .get(&key)
        .filter(|_| crd_lifecycle::is_replaceable(call.core, &call.served, &key));
    if options.dry_run {
        if let Some(present) = storage.get(&key).filter(|_| replaced.is_none()) {
            return Err(already_exists(call, name, &present));
        }
        object_meta::meta_mut(&mut object).remove("resourceVersion");
        return Ok(WriteOutcome::DryRun(object));
    }
    call.core
        .version_converter()
        .to_storage_version(&call.served, &mut object)?;
    let pending = pending_object(object)?;
    let pending = pending.with_schema_generation(call.served.schema_generation);
    let store = &call.core.store;
    let stored = match replaced {
        Some(present) => store.replace(storage, &key, present.revision(), pending),
        None => store.create(storage, &key, pending),
    };
    match stored {
        Ok(object) => {
            event_ttl::record(call, &object);
            policy_status::after_commit(call, &object);
            after_commit(call.core, &call.served, &key);
            Ok(WriteOutcome::Stored(object))
        }
        Err(CommitError::KeyExists(present)) => Err(already_exists(call, name, &present)),
        Err(_) => Err(ApiError::no_such_resource()),
    }
}

/// 409 AlreadyExists; the message differs while the existing object is terminating.
fn already_exists(call: &RequestContext<'_>, name: &str, present: &Arc<Object>) -> ApiError {
    let mut error = ApiError::already_exists(&call.path.group, &call.path.resource, name);
    if object_meta::is_terminating(&present.value()) {
        error.message = format!("object is being deleted: {}", error.message);
    }
    error
}
