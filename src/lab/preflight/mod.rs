//! What has to be true of somebody else's cluster before anything is written to it: nobody else
//! admits there, and this lab has the rights to. Only reads.

mod permissions;
mod upstream;
mod webhooks;

use kube::Client;

pub use upstream::{UpstreamKueue, find as find_upstream};

/// Why the lab does not start on a cluster.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// Kueue runs there.
    #[error(
        "{upstream} already admits workloads on this cluster, and two admission controllers would undo each other's decisions; add --observe to watch it, or uninstall it first"
    )]
    Upstream {
        /// What was found.
        upstream: UpstreamKueue,
    },
    /// Kueue ran there, and its webhooks are still registered.
    #[error(
        "webhooks of another Kueue are registered on this cluster and would be asked about everything this lab does, answered or not; uninstall that Kueue first, or take them away: kubectl delete {webhooks}"
    )]
    Webhooks {
        /// As `kubectl` names them.
        webhooks: String,
    },
    /// Rights are missing.
    #[error(
        "the user of this context may not {missing}; ask for these rights, or use a context that has them"
    )]
    MissingPermissions {
        /// Verbs and resources.
        missing: String,
    },
    /// The cluster did not answer a question.
    #[error("cannot find out {what}: {reason}")]
    CannotVerify {
        /// The question.
        what: &'static str,
        /// What the cluster said.
        reason: String,
    },
}

impl PreflightError {
    /// Whether what was asked for is wrong, rather than what happened.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::CannotVerify { .. })
    }
}

/// Makes sure that the lab may run on a cluster.
///
/// # Errors
/// [`PreflightError`]; nothing was written.
pub async fn preflight(client: &Client) -> Result<(), PreflightError> {
    if let Some(upstream) = find_upstream(client, kueue_lab_install::NAMESPACE).await? {
        return Err(PreflightError::Upstream { upstream });
    }
    let webhooks = webhooks::find(client).await?;
    if !webhooks.is_empty() {
        let webhooks = webhooks.join(" ");
        return Err(PreflightError::Webhooks { webhooks });
    }
    permissions::check(client).await
}
