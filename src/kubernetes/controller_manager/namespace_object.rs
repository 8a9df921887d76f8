//! Helpers of the controllers that create one object in every namespace.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::ObjectMeta;

use kueue_lab_controller_runtime::api_errors::{is_namespace_terminating, is_not_found};
use kueue_lab_controller_runtime::{Informer, ObjectKey};

/// The key of the namespace of an object.
pub(super) fn namespace_key(object: &impl kube::Resource) -> ObjectKey {
    ObjectKey::cluster(object.meta().namespace.as_deref().unwrap_or_default())
}

/// The namespace of that key, unless it is terminating.
pub(super) fn active_namespace(
    namespaces: &Informer<Namespace>,
    key: &ObjectKey,
) -> Option<Arc<Namespace>> {
    let namespace = namespaces.get(key);
    namespace.filter(|n| n.metadata.deletion_timestamp.is_none())
}

/// Metadata with namespace and name.
pub(super) fn metadata(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_string()),
        namespace: Some(namespace.to_string()),
        ..ObjectMeta::default()
    }
}

/// The written object; `None` if it exists already or the namespace is terminating.
pub(super) fn ignore_not_needed<T>(
    written: Result<T, kube::Error>,
) -> Result<Option<T>, kube::Error> {
    match written {
        Ok(object) => Ok(Some(object)),
        Err(error) if is_not_found(&error) || is_namespace_terminating(&error) => Ok(None),
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(None),
        Err(error) => Err(error),
    }
}
