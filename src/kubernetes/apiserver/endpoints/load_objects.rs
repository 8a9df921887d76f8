//! Loads objects with their status and metadata into a new cluster, as a backup is restored.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::pending_object::pending_object;
use super::{crd_lifecycle, restore};
use crate::registry::ServedResource;
use crate::registry::object_reader::ObjectReader;
use crate::server_state::ServerState;
use crate::storage::key::storage_key;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::schema::decode::{DecodeSource, decode};
use kueue_lab_field::aggregate;

/// The error of an object that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LoadObjectError {
    /// The index of the object.
    pub index: usize,
    /// The error and the remedy.
    pub message: String,
}

/// The handling of unknown fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFields {
    /// They are errors.
    #[default]
    Strict,
    /// They are dropped with a warning: the object is from a cluster with other versions of its
    /// kinds.
    Warn,
}

/// Stores objects of a new cluster: uids, creation times and statuses are kept, and no admission
/// plugin runs. CustomResourceDefinitions are loaded first, then namespaces. An object replaces one
/// of the same name.
///
/// # Errors
/// [`LoadObjectError`] for the first object that is not valid. Objects before it are stored: the
/// cluster must not be used.
pub(crate) async fn load_objects(
    core: &Arc<ServerState>,
    objects: Vec<Value>,
    unknown_fields: UnknownFields,
) -> Result<(), LoadObjectError> {
    let mut ordered: Vec<(usize, Value)> = objects.into_iter().enumerate().collect();
    ordered.sort_by_key(|(_, object)| match object["kind"].as_str() {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        _ => 2,
    });
    let last = ordered.len().saturating_sub(1);
    let store_all = async {
        let mut loaded = BTreeSet::new();
        for (index, object) in ordered {
            let failed = |message| LoadObjectError { index, message };
            let (resource, key) = load_object(core, object, unknown_fields).map_err(failed)?;
            if !loaded.insert((resource, key)) {
                return Err(failed("the object occurs twice; remove one".into()));
            }
        }
        Ok(())
    };
    let stored = core.store.durably(store_all).await;
    stored.map_err(|error| LoadObjectError {
        index: last,
        message: error.to_string(),
    })??;
    restore::expire_stored_events(core);
    core.has_restored_objects
        .store(true, std::sync::atomic::Ordering::Relaxed);
    Ok(())
}

/// Stores an object; returns its resource and storage key.
fn load_object(
    core: &ServerState,
    mut object: Value,
    unknown_fields: UnknownFields,
) -> Result<(Arc<str>, String), String> {
    let served = find_resource(core, &object)?;
    let kind = &served.kind;
    let Some(storage) = &served.storage else {
        return Err(format!(
            "objects of the kind {} are not stored; remove it",
            kind.kind
        ));
    };
    if let Some(schema) = served.schema() {
        let unknown = decode(&schema, &mut object, DecodeSource::Json);
        let unknown = unknown.map_err(|error| error.to_string())?;
        match (unknown.first(), unknown_fields) {
            (Some(field), UnknownFields::Strict) => {
                return Err(format!("unknown field {field:?}; correct or remove it"));
            }
            (Some(_), UnknownFields::Warn) => {
                let name = object_meta::meta_str(&object, "name");
                let fields = unknown.join(", ");
                let kind = &kind.kind;
                tracing::warn!("{kind} {name}: unknown fields {fields} are dropped");
            }
            (None, _) => {}
        }
    }
    let name = object_meta::meta_str(&object, "name").to_owned();
    if name.is_empty() {
        return Err("metadata.name is missing; set it".into());
    }
    let namespace = object_meta::meta_str(&object, "namespace").to_owned();
    check_namespace(core, &served, &namespace)?;
    fill_metadata(core, &served, &mut object);
    kind.strategy.set_defaults(&mut object);
    let errors = kind.strategy.validate_create(&object);
    if !errors.is_empty() {
        return Err(format!(
            "it is not valid: {}; correct it",
            aggregate(&errors)
        ));
    }
    let message = |error: ApiError| error.message;
    let converter = core.version_converter();
    converter
        .to_storage_version(&served, &mut object)
        .map_err(message)?;
    let pending = pending_object(object)
        .map_err(message)?
        .with_schema_generation(served.schema_generation);
    let key = storage_key(&namespace, &name);
    let stored = match storage.get(&key) {
        Some(present) => core
            .store
            .replace(storage, &key, present.revision(), pending),
        None => core.store.create(storage, &key, pending),
    };
    stored.map_err(|error| error.to_string())?;
    crd_lifecycle::after_commit(core, &served, &key);
    Ok((storage.resource().clone(), key))
}

/// The resource of an object's apiVersion and kind.
fn find_resource(core: &ServerState, object: &Value) -> Result<Arc<ServedResource>, String> {
    let text = |field: &str| match object[field].as_str() {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(format!("{field} is missing; set it")),
    };
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let table = core.registry.table();
    let versions = table.group(group).and_then(|g| g.version(version));
    let mut resources = versions.into_iter().flat_map(|v| &v.resources);
    let found = resources.find(|r| *r.kind.kind == *kind && r.aggregated.is_none());
    found.cloned().ok_or_else(|| {
        format!(
            "the kind {kind} of {api_version} is not served; add its CustomResourceDefinition to the file, or remove the object"
        )
    })
}

fn check_namespace(
    core: &ServerState,
    served: &ServedResource,
    namespace: &str,
) -> Result<(), String> {
    let kind = &served.kind;
    match (kind.namespaced, namespace) {
        (true, "") => Err("metadata.namespace is missing; set it".into()),
        (false, "") => Ok(()),
        (false, _) => Err(format!(
            "objects of the kind {} have no namespace; remove metadata.namespace",
            kind.kind
        )),
        (true, namespace) => match core.objects().get("", "namespaces", "", namespace) {
            Some(_) => Ok(()),
            None => Err(format!(
                "the namespace {namespace} does not exist; add it to the file"
            )),
        },
    }
}

/// Sets the system metadata that the object does not have.
fn fill_metadata(core: &ServerState, served: &ServedResource, object: &mut Value) {
    let mut filled = json!({"metadata": {}});
    object_meta::fill_system_fields(&mut filled, &core.entropy, core.clock.now());
    if served.kind.strategy.has_generation() {
        object_meta::set_generation(&mut filled, 1);
    }
    let metadata = object_meta::meta_mut(object);
    metadata.remove("resourceVersion");
    if let Value::Object(filled) = filled["metadata"].take() {
        for (field, value) in filled {
            metadata.entry(field).or_insert(value);
        }
    }
}
