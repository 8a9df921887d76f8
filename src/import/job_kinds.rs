//! The kinds of jobs that own Workloads and Pods.

use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_api::config::FRAMEWORKS;

/// The resource of a kind that owns Workloads or Pods, in the version that the lab serves; `None` for a
/// kind that is none of Kueue's integrations nor between them and their Pods.
pub(super) fn job_resource(group: &str, kind: &str) -> Option<ApiResource> {
    if (group, kind) == ("apps", "ReplicaSet") {
        return Some(resource("apps", "v1", "ReplicaSet", "replicasets"));
    }
    let mut all = FRAMEWORKS.iter();
    let found = all.find(|f| f.group == group && f.kind == kind && f.kind != "Pod")?;
    Some(resource(
        found.group,
        found.version,
        found.kind,
        found.resource,
    ))
}

/// A resource by its names.
pub(super) fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}
