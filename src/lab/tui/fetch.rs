//! Fetching an object as YAML and as a description in the format of `kubectl describe`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::error_message;
use serde_json::Value;

use super::describe::describe;
use super::model::event::EventRow;
use super::model::{Kind, ObjectRef};

/// The most Events in a description.
const MAX_EVENTS: u32 = 50;

/// An object as text.
pub(crate) struct FetchedObject {
    /// As YAML.
    pub(crate) yaml: String,
    /// As `kubectl describe` shows it.
    pub(crate) description: String,
}

/// Why an object cannot be fetched, one sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    /// It does not exist.
    #[error("{0} is gone")]
    Gone(ObjectRef),
    /// The request fails.
    #[error("{object}: {}", error_message(source))]
    Request {
        /// The object.
        object: ObjectRef,
        /// Why.
        source: kube::Error,
    },
    /// The cluster does not serve the kind.
    #[error("{kind}: {}", error_message(source))]
    Kind {
        /// The kind.
        kind: String,
        /// Why.
        source: kube::Error,
    },
    /// It is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It cannot be written as YAML.
    #[error("{object}: {source}")]
    Yaml {
        /// The object.
        object: ObjectRef,
        /// Why.
        source: serde_yaml::Error,
    },
}

/// Fetches an object.
///
/// # Errors
/// It does not exist, or the request fails.
pub(crate) async fn fetch_object(
    client: Client,
    object: ObjectRef,
    now: Timestamp,
) -> Result<FetchedObject, FetchError> {
    let api = api_for(&client, &object).await?;
    let mut value = match api.get_opt(&object.key.name).await {
        Ok(Some(found)) => serde_json::to_value(found)?,
        Ok(None) => return Err(FetchError::Gone(object)),
        Err(source) => return Err(FetchError::Request { object, source }),
    };
    if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("managedFields");
    }
    let events = events_about(&client, &object).await;
    let yaml = serde_yaml::to_string(&value);
    let yaml = yaml.map_err(|source| FetchError::Yaml { object, source })?;
    Ok(FetchedObject {
        yaml,
        description: describe(&value, &events, now),
    })
}

/// The API of the kind of an object in its namespace. Kinds that are not watched are discovered.
///
/// # Errors
/// The cluster does not serve the kind.
pub(super) async fn api_for(
    client: &Client,
    object: &ObjectRef,
) -> Result<Api<DynamicObject>, FetchError> {
    let (group, version) = match object.api_version.split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", object.api_version.as_str()),
    };
    let gvk = GroupVersionKind::gvk(group, version, &object.kind);
    let known = Kind::ALL
        .iter()
        .find(|k| k.name() == object.kind && k.api_version() == object.api_version);
    let resource = match known {
        Some(kind) => ApiResource::from_gvk_with_plural(&gvk, kind.plural()),
        None => {
            let found = kube::discovery::pinned_kind(client, &gvk).await;
            let found = found.map_err(|source| FetchError::Kind {
                kind: object.kind.clone(),
                source,
            })?;
            found.0
        }
    };
    Ok(if object.key.namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &object.key.namespace, &resource)
    })
}

/// Events about an object, oldest first; empty if they cannot be listed.
async fn events_about(client: &Client, object: &ObjectRef) -> Vec<EventRow> {
    let api: Api<Event> = if object.key.namespace.is_empty() {
        Api::all(client.clone())
    } else {
        Api::namespaced(client.clone(), &object.key.namespace)
    };
    let selector = format!(
        "involvedObject.kind={},involvedObject.name={}",
        object.kind, object.key.name
    );
    let params = ListParams::default().fields(&selector).limit(MAX_EVENTS);
    let mut rows: Vec<EventRow> = match api.list(&params).await {
        Ok(list) => list.items.iter().map(EventRow::of).collect(),
        Err(_) => Vec::new(),
    };
    rows.sort_by_key(|e| e.at);
    rows
}
