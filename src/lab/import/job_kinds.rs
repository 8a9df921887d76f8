//! The kinds of jobs that own Workloads and Pods.

use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_api::config::FRAMEWORKS;

/// The beginning of the note on a kind without integration.
const NO_INTEGRATION: &str = "the lab has no integration for";
/// The note on kinds without integration that does not name them.
pub(super) const JOBS_OF_OTHER_KINDS: &str =
    "the lab has no integration for some kinds: their Workloads are kept without their jobs";

/// The note on a kind of jobs without integration.
pub(super) fn note_on_kind(group: &str, kind: &str) -> String {
    format!("{NO_INTEGRATION} {kind} of {group}: its Workloads are kept without their jobs")
}

/// Whether a note names a kind of jobs without integration.
pub(super) fn is_note_on_kind(note: &str) -> bool {
    note.starts_with(NO_INTEGRATION)
}

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
