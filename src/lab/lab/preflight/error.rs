//! Errors of the preflight checks.

use super::upstream::UpstreamKueue;
use kueue_lab_presets::{Finding, ListError};

/// The error of the checks before the lab starts on a cluster.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// Another Kueue runs there.
    #[error(
        "{upstream} already admits workloads on this cluster, and two admission controllers would undo each other's decisions; add --observe to watch it, or uninstall it first"
    )]
    Upstream {
        /// The running manager.
        upstream: UpstreamKueue,
    },
    /// Webhooks of another Kueue are still registered.
    #[error(
        "webhooks of another Kueue are registered on this cluster and would be called for every write of this lab; uninstall that Kueue first, or delete them: kubectl delete {webhooks}"
    )]
    Webhooks {
        /// As arguments of `kubectl delete`.
        webhooks: String,
    },
    /// Permissions are missing.
    #[error(
        "the user of this context may not {missing}; request these permissions, or use a context that has them"
    )]
    MissingPermissions {
        /// Verbs and resources.
        missing: String,
    },
    /// Objects of the preset exist, from other clients and with other fields.
    #[error(
        "{}\nnothing was written to the cluster; rename the objects in a copy of the preset, start with --preset none, watch with --observe, or see with `kueue-lab plan --context` what an apply would change",
        .conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    )]
    ExistingObjects {
        /// An error for each object.
        conflicts: Vec<Finding>,
    },
    /// A request failed.
    #[error("cannot determine {what}: {reason}")]
    CannotVerify {
        /// The subject of the check.
        what: &'static str,
        /// The error.
        reason: String,
    },
}

impl PreflightError {
    /// The error of a failed list of the objects of Kueue's kinds.
    pub fn existing_objects(error: ListError) -> Self {
        Self::CannotVerify {
            what: "which objects of Kueue the cluster has",
            reason: error.to_string(),
        }
    }

    /// Whether the cluster or the user has to be changed, rather than that a request failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::CannotVerify { .. })
    }
}
