//! Creating an object.

use std::sync::Arc;

use serde_json::Value;

use super::admit::Admitting;
use super::call::Call;
use super::options::WriteOptions;
use super::reply::Reply;
use super::{convert, definitions, input, meta, owners};
use crate::hooks::Operation;
use crate::status::ApiError;
use crate::store::{CommitError, Draft, Object};

/// How often a taken generated name is replaced by another.
const NAME_ATTEMPTS: usize = 8;

/// What a write came to.
pub(super) enum Written {
    /// It is stored.
    Stored(Arc<Object>),
    /// It would have been stored like this.
    Dry(Value),
}

impl Written {
    /// The object in the version `served` serves.
    pub(super) fn value(&self, call: &Call<'_>) -> Result<Arc<Value>, ApiError> {
        match self {
            Self::Stored(object) => call.view.decoded(object),
            Self::Dry(value) => Ok(Arc::new(value.clone())),
        }
    }

    pub(super) fn show(&self, call: &Call<'_>, status: u16) -> Result<Reply, ApiError> {
        match self {
            Self::Stored(object) => call.view.show(status, object),
            Self::Dry(value) => Ok(call.view.show_value(status, value)),
        }
    }
}

/// POST to a collection.
pub(super) async fn create(call: &Call<'_>) -> Result<Reply, ApiError> {
    let options = WriteOptions::of(call, "CreateOptions")?;
    let mut object = input::object(call, options.validation)?;
    input::check_api_version(call, &object)?;
    meta::wipe(&mut object);
    meta::ensure_namespace(&mut object, call.namespace())?;
    meta::dedup_owners(&mut object);
    let written = new_object(call, &options, object).await?;
    written.show(call, 201)
}

/// Takes a decoded object through everything a new object goes through.
pub(super) async fn new_object(
    call: &Call<'_>,
    options: &WriteOptions,
    object: Value,
) -> Result<Written, ApiError> {
    if call.served.custom.as_ref().is_some_and(|c| c.terminating) {
        let why = "create not allowed while custom resource definition is terminating";
        let (group, plural) = (&call.path.group, &call.path.resource);
        let name = meta::text(&object, "name");
        return Err(ApiError::forbidden(group, plural, name, why));
    }
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut object = object.clone();
        let named = !meta::text(&object, "name").is_empty();
        let generated = !named && meta::generate_name(&mut object, &call.core.entropy);
        match create_once(call, options, object).await {
            Err(e) if e.reason == "AlreadyExists" && generated && attempt < NAME_ATTEMPTS => {}
            outcome => return outcome,
        }
    }
}

async fn create_once(
    call: &Call<'_>,
    options: &WriteOptions,
    mut object: Value,
) -> Result<Written, ApiError> {
    let core = call.core;
    let kind = &call.served.kind;
    kind.behaviour.default(&mut object);
    meta::fill(&mut object, &core.entropy, core.clock.now());
    owners::track(call, options, None, &mut object);
    let name = meta::text(&object, "name").to_string();
    let admitting = Admitting {
        call,
        operation: Operation::Create,
        name: &name,
        old: None,
        dry_run: options.dry_run,
    };
    admitting.mutate(&mut object).await?;
    prepare(call, &mut object);
    let errors = kind.behaviour.validate_create(&object);
    if !errors.is_empty() {
        return Err(ApiError::invalid(&kind.group, &kind.kind, &name, &errors));
    }
    kind.behaviour
        .warnings(&object, None)
        .into_iter()
        .for_each(|w| call.warn(w));
    let _counting = admitting.validate(&object).await?;
    store(call, options, &name, object)
}

/// The state every new object of the kind starts in.
fn prepare(call: &Call<'_>, object: &mut Value) {
    let kind = &call.served.kind;
    if kind.subresource("status").is_some()
        && !kind.behaviour.keeps_status()
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("status");
    }
    kind.behaviour.prepare_create(object);
    if kind.behaviour.has_generation() {
        meta::set_generation(object, 1);
    } else {
        meta::meta_mut(object).remove("generation");
    }
}

fn store(
    call: &Call<'_>,
    options: &WriteOptions,
    name: &str,
    mut object: Value,
) -> Result<Written, ApiError> {
    let key = call.key(name);
    let space = call.space()?;
    if options.dry_run {
        if let Some(present) = space.get(&key) {
            return Err(exists(call, name, &present));
        }
        meta::meta_mut(&mut object).remove("resourceVersion");
        return Ok(Written::Dry(object));
    }
    convert::to_storage(call.core, &call.served, &mut object)?;
    let draft = Draft::new(object).map_err(|e| ApiError::internal(e.to_string()))?;
    let draft = draft.shaped(call.served.shape);
    match call.core.store.create(space, &key, draft) {
        Ok(object) => {
            definitions::committed(call.core, &call.served, &key);
            Ok(Written::Stored(object))
        }
        Err(CommitError::Exists(present)) => Err(exists(call, name, &present)),
        Err(_) => Err(ApiError::no_such_resource()),
    }
}

/// 409; of a namesake that is on its way out Kubernetes says so.
fn exists(call: &Call<'_>, name: &str, present: &Arc<Object>) -> ApiError {
    let mut error = ApiError::already_exists(&call.path.group, &call.path.resource, name);
    if meta::is_terminating(&present.value()) {
        error.message = format!("object is being deleted: {}", error.message);
    }
    error
}
