//! The label of all installed objects.

use kube::{Resource, ResourceExt};

/// Key and value of the label of all installed objects.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "kueue-lab");

/// The label selector of all installed objects.
pub fn selector() -> String {
    format!("{}={}", MANAGED_BY.0, MANAGED_BY.1)
}

/// Whether an object has the label of installed objects.
pub fn is_managed_by_lab(object: &impl Resource) -> bool {
    let label = object.labels().get(MANAGED_BY.0);
    label.is_some_and(|value| value == MANAGED_BY.1)
}
