//! Finds unmanaged objects in a namespace, which its deletion would delete too.

use crate::api_client::{ApiClient, RequestError, RestMapping};
use crate::preset_label::is_managed;

/// The kinds checked: group version, plural and name for messages.
const USER_OBJECT_KINDS: &[(&str, &str, &str)] = &[
    ("v1", "pods", "Pods"),
    ("v1", "persistentvolumeclaims", "PersistentVolumeClaims"),
    ("v1", "configmaps", "ConfigMaps"),
    ("v1", "secrets", "Secrets"),
    ("v1", "services", "Services"),
    ("batch/v1", "jobs", "Jobs"),
    ("apps/v1", "deployments", "Deployments"),
    ("apps/v1", "statefulsets", "StatefulSets"),
];
/// The ConfigMap that kube-controller-manager creates in each namespace.
const ROOT_CA_CONFIG_MAP: &str = "kube-root-ca.crt";

/// The number and kind of the first unmanaged objects in a namespace, such as `2 Pods`.
pub(crate) async fn first_unmanaged_objects(
    remote: &ApiClient,
    namespace: &str,
) -> Result<Option<String>, RequestError> {
    for (api_version, plural, name) in USER_OBJECT_KINDS {
        let kind = RestMapping {
            api_version: (*api_version).to_owned(),
            plural: (*plural).to_owned(),
            namespaced: true,
        };
        let objects = match remote.list(&kind, Some(namespace)).await {
            Err(error) if error.is_not_found() => continue,
            objects => objects?,
        };
        let count = objects
            .iter()
            .filter(|o| !is_managed(o) && o["metadata"]["name"] != ROOT_CA_CONFIG_MAP)
            .count();
        if count > 0 {
            return Ok(Some(format!("{count} {name}")));
        }
    }
    Ok(None)
}
