//! Objects of kinds that a lab serves only with job operators.

use serde_json::Value;

/// The API groups of objects that no job operator serves. Custom resources whose definitions are in the preset do not
/// need them, and are served with them too.
const OWN_GROUPS: [&str; 8] = [
    "",
    "apiextensions.k8s.io",
    "apps",
    "autoscaling.x-k8s.io",
    "batch",
    "kueue.x-k8s.io",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
];

/// Whether an object can be of a kind of a job operator, which a lab does not serve otherwise.
pub(crate) fn is_of_job_operator(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    !OWN_GROUPS.contains(&group)
}
