//! The webhooks of the kinds of jobs.

use kueue_lab_api::config::Framework;

/// Kinds whose pods are queued instead of themselves.
const SERVING_KINDS: [&str; 3] = ["Deployment", "StatefulSet", "LeaderWorkerSet"];

/// The name of the mutating or validating webhook of a kind, such as `vjob.kb.io`.
pub fn webhook_name(kind: &str, mutating: bool) -> String {
    let prefix = if mutating { 'm' } else { 'v' };
    format!("{prefix}{}.kb.io", kind.to_lowercase())
}

/// Whether the kind is a serving workload, whose pods are queued instead of itself.
pub fn is_serving(framework: &Framework) -> bool {
    SERVING_KINDS.contains(&framework.kind)
}
