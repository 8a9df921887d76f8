//! The order in which the objects of a file can be applied.

use kueue_lab_json::ValueExt;
use serde_json::Value;

/// Kinds that others need.
const FIRST: [&str; 8] = [
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "StorageClass",
    "RuntimeClass",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
];
/// Events, and the objects that register webhooks and extension API servers.
const LAST: [&str; 7] = [
    "Event",
    "APIService",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "Lease",
];

/// The order in which objects can be applied: first what others need, objects of the cluster before those
/// in namespaces.
pub fn apply_order(object: &Value) -> (usize, bool, String, String, String) {
    let kind = object.text("/kind");
    let rank = match (
        FIRST.iter().position(|k| *k == kind),
        LAST.iter().position(|k| *k == kind),
    ) {
        (Some(at), _) => at,
        (None, Some(at)) => FIRST.len() + 2 + at,
        (None, None) => FIRST.len() + usize::from(object.has("/metadata/ownerReferences")),
    };
    let namespace = object.text("/metadata/namespace");
    (
        rank,
        !namespace.is_empty(),
        kind.to_owned(),
        namespace.to_owned(),
        object.name().to_owned(),
    )
}
