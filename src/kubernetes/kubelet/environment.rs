//! The environment of a container, with the downward API's fields resolved.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;

/// The environment of a container, as far as its pod defines it.
pub fn environment(container: &Container, pod: &Pod) -> BTreeMap<String, String> {
    let mut known = BTreeMap::from([("HOSTNAME".to_string(), pod.name_any())]);
    for variable in container.env.iter().flatten() {
        let value = match &variable.value_from {
            None => variable.value.clone(),
            Some(source) => source
                .field_ref
                .as_ref()
                .and_then(|field| pod_field(pod, &field.field_path)),
        };
        if let Some(value) = value {
            known.insert(variable.name.clone(), value);
        }
    }
    known
}

/// The value of a field of the downward API; `None` if it is not known.
pub fn pod_field(pod: &Pod, path: &str) -> Option<String> {
    let keyed = |prefix: &str| path.strip_prefix(prefix)?.strip_suffix("']");
    if let Some(key) = keyed("metadata.annotations['") {
        return pod.annotations().get(key).cloned();
    }
    if let Some(key) = keyed("metadata.labels['") {
        return pod.labels().get(key).cloned();
    }
    match path {
        "metadata.name" => Some(pod.name_any()),
        "metadata.namespace" => pod.namespace(),
        "metadata.uid" => pod.uid(),
        "spec.serviceAccountName" => pod.spec.as_ref()?.service_account_name.clone(),
        "status.podIP" | "status.podIPs" => pod.status.as_ref()?.pod_ip.clone(),
        "status.hostIP" | "status.hostIPs" => pod.status.as_ref()?.host_ip.clone(),
        "spec.nodeName" => pod.spec.as_ref()?.node_name.clone(),
        _ => None,
    }
}
