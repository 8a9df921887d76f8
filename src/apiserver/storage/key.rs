//! Storage keys.

/// The key objects are stored under.
pub(crate) fn storage_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.into()
    } else {
        format!("{namespace}/{name}")
    }
}
