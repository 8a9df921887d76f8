//! The kinds of jobs that own Workloads and Pods.

use kube::discovery::ApiResource;
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
    let api_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version,
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}
