//! Storage keys.

use crate::registry::ServedResource;

/// The storage key of an object.
pub(crate) fn storage_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.into()
    } else {
        format!("{namespace}/{name}")
    }
}

/// The key of an object in the etcd of a Kubernetes cluster, which messages show.
pub(crate) fn etcd_key(served: &ServedResource, storage_key: &str) -> String {
    let (group, plural) = (&*served.kind.group, &*served.kind.plural);
    let has_group = served.custom.is_some()
        || matches!(group, "apiextensions.k8s.io" | "apiregistration.k8s.io");
    let prefix = match (group, plural) {
        _ if has_group => return format!("/registry/{group}/{plural}/{storage_key}"),
        ("", "replicationcontrollers") => "controllers",
        ("", "endpoints") => "services/endpoints",
        ("", "nodes") => "minions",
        ("", "services") => "services/specs",
        ("networking.k8s.io", "ingresses") => "ingress",
        (_, plural) => plural,
    };
    format!("/registry/{prefix}/{storage_key}")
}
