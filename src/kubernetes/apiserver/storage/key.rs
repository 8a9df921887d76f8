//! Storage keys.

/// The storage key of an object.
pub(crate) fn storage_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.into()
    } else {
        format!("{namespace}/{name}")
    }
}
