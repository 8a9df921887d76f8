//! Removes the objects of presets from a cluster.

use kube::Client;

use super::api_client::{ApiClient, RequestError};
use super::apply::{Applier, ApplyOptions};

/// The result of the removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovalReport {
    /// The number of deleted objects.
    pub objects: usize,
    /// Objects that could not be deleted, and why; one line each.
    pub remaining: Vec<String>,
}

/// A request of the removal failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RemovalError(#[from] RequestError);

/// Deletes the objects of presets that still have the preset label. `remove_finalizers` is for a
/// cluster without a running controller: removes the finalizers that the controller would remove.
///
/// # Errors
/// A request failed. Objects deleted before it stay deleted; the call can be repeated.
pub async fn remove_preset_objects(
    client: &Client,
    remove_finalizers: bool,
) -> Result<RemovalReport, RemovalError> {
    let remote = ApiClient {
        client: client.clone(),
    };
    let mut applier = Applier::new(remote, ApplyOptions::default()).await?;
    let outcome = applier.remove_all(remove_finalizers).await?;
    Ok(RemovalReport {
        objects: outcome.pruned,
        remaining: outcome.warnings.iter().map(ToString::to_string).collect(),
    })
}
