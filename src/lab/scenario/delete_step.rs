//! [`delete_step`]: the step that deletes an object, as it is written in a file.

/// The step that deletes an object of a kind, for messages.
pub(crate) fn delete_step(kind: &str, name: &str) -> String {
    format!("`delete: {{kind: {kind}, name: {name}}}`")
}
