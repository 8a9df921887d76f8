//! The names of the webhooks of jobs.

/// The name of the mutating or validating webhook of a kind, such as `vjob.kb.io`.
pub fn webhook_name(kind: &str, mutating: bool) -> String {
    let prefix = if mutating { 'm' } else { 'v' };
    format!("{prefix}{}.kb.io", kind.to_lowercase())
}
