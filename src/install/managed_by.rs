//! The label of all installed objects.

/// Key and value of the label of all installed objects.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "kueue-lab");

/// The label selector of all installed objects.
pub fn selector() -> String {
    format!("{}={}", MANAGED_BY.0, MANAGED_BY.1)
}
