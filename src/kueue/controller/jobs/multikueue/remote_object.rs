//! The object of a job in a worker cluster: its metadata, and whether this manager created it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::core::DynamicObject;
use serde_json::json;

use super::adapter::Adapter;
use crate::ControllerContext;
use crate::jobs::error::JobError;
use crate::jobs::go_struct::encode_gvk_as_go;
use crate::jobs::integration_manager::Gvk;
use crate::object_meta;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;
use kueue_lab_controller_runtime::ObjectKey;

/// The maximum length of a label value.
const LABEL_VALUE_MAX: usize = 63;

/// Name, namespace, labels and annotations of an object.
pub(crate) fn clone_object_meta_for_creation(meta: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        name: meta.name.clone(),
        namespace: meta.namespace.clone(),
        labels: meta.labels.clone(),
        annotations: meta.annotations.clone(),
        ..ObjectMeta::default()
    }
}

/// A new object with the metadata and the spec of `local`, as upstream encodes its Go type.
pub(super) fn clone_for_creation(local: &DynamicObject, gvk: &Gvk) -> DynamicObject {
    let spec = local.data.get("spec").cloned().unwrap_or_default();
    let mut encoded = encode_gvk_as_go(gvk, json!({ "spec": spec }));
    DynamicObject {
        types: local.types.clone(),
        metadata: clone_object_meta_for_creation(&local.metadata),
        data: json!({ "spec": encoded["spec"].take() }),
    }
}

/// Sets the label of the manager.
pub(super) fn set_origin(meta: &mut ObjectMeta, origin: &str) {
    let labels = meta.labels.get_or_insert_default();
    labels.insert(c::MULTI_KUEUE_ORIGIN_LABEL.to_owned(), origin.to_owned());
}

/// Sets the label of the manager and the name of the prebuilt Workload.
pub(super) fn set_multikueue_meta(
    meta: &mut ObjectMeta,
    gates: &FeatureGates,
    workload: &str,
    origin: &str,
) {
    set_origin(meta, origin);
    set_prebuilt_workload_name(meta, gates, workload);
}

/// Sets the name of the prebuilt Workload: an annotation if the gate is on or the name is too long
/// for a label.
pub(super) fn set_prebuilt_workload_name(
    meta: &mut ObjectMeta,
    gates: &FeatureGates,
    workload: &str,
) {
    let annotated =
        gates.enabled(Feature::WorkloadIdentifierAnnotations) || workload.len() > LABEL_VALUE_MAX;
    let (map, key) = match annotated {
        true => (&mut meta.annotations, c::PREBUILT_WORKLOAD_ANNOTATION),
        false => (&mut meta.labels, c::PREBUILT_WORKLOAD_LABEL),
    };
    map.get_or_insert_default()
        .insert(key.to_owned(), workload.to_owned());
}

/// The reason that a job in a worker cluster is not synced or deleted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteObjectError {
    /// The request failed.
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// The object does not have this manager's label.
    #[error(
        "remote object is not owned by MultiKueue: expected \"kueue.x-k8s.io/multikueue-origin\"={origin:?} on *v1.PartialObjectMetadata {key:?}"
    )]
    NotOwned {
        /// The manager.
        origin: String,
        /// The object.
        key: String,
    },
}

impl From<RemoteObjectError> for JobError {
    fn from(error: RemoteObjectError) -> Self {
        match error {
            RemoteObjectError::Api(error) => Self::Api(error),
            error @ RemoteObjectError::NotOwned { .. } => Self::Retryable(error.to_string()),
        }
    }
}

/// Whether the object exists in the worker cluster.
///
/// # Errors
/// It cannot be read, or this manager did not create it.
pub(crate) async fn validate_remote_object_ownership(
    adapter: &Adapter,
    remote: &Client,
    key: &ObjectKey,
    origin: &str,
) -> Result<bool, RemoteObjectError> {
    let found = adapter.api(remote, key).get_metadata_opt(&key.name).await?;
    let Some(object) = found else {
        return Ok(false);
    };
    match object_meta::label(&object.metadata, c::MULTI_KUEUE_ORIGIN_LABEL) == Some(origin) {
        true => Ok(true),
        false => Err(RemoteObjectError::NotOwned {
            origin: origin.to_owned(),
            key: key.to_string(),
        }),
    }
}

/// Deletes the object in the worker cluster if this manager created it.
///
/// # Errors
/// A request fails.
pub(crate) async fn delete_remote_object_if_owned(
    shared: &ControllerContext,
    adapter: &Adapter,
    remote: &Client,
    key: &ObjectKey,
    origin: &str,
) -> Result<(), JobError> {
    match validate_remote_object_ownership(adapter, remote, key, origin).await {
        Ok(false) | Err(RemoteObjectError::NotOwned { .. }) => Ok(()),
        Ok(true) => adapter.delete_remote_object(shared, remote, key).await,
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_workload_name_is_an_annotation() {
        let gates = FeatureGates::default();
        let mut meta = ObjectMeta::default();
        let name = "w".repeat(64);
        set_multikueue_meta(&mut meta, &gates, &name, "manager");
        assert_eq!(
            object_meta::annotation(&meta, c::PREBUILT_WORKLOAD_ANNOTATION),
            Some(name.as_str())
        );
        assert_eq!(
            object_meta::label(&meta, c::MULTI_KUEUE_ORIGIN_LABEL),
            Some("manager")
        );
    }
}
