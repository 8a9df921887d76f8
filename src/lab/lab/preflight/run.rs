//! Runs the preflight checks.

use kube::Client;

use super::error::PreflightError;
use super::upstream::find as find_upstream;
use super::{permissions, webhooks};

/// Checks that the lab may run on a cluster.
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
