//! Removes the objects of presets from a cluster.

use kube::Client;

use super::api_client::ApiClient;
use super::apply::Applier;

/// The result of the removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovalReport {
    /// The number of deleted objects.
    pub objects: usize,
    /// Objects that could not be deleted, and why; one line each.
    pub remaining: Vec<String>,
}

/// Deletes the objects of presets that still have the preset label. `remove_finalizers` is for a
/// cluster without a running controller: removes the finalizers that the controller would remove.
///
/// # Errors
/// A request failed. Objects deleted before it stay deleted; the call can be repeated.
pub async fn remove_preset_objects(
    client: &Client,
    remove_finalizers: bool,
) -> Result<RemovalReport, String> {
    let remote = ApiClient {
        client: client.clone(),
    };
    let removed = async {
        let mut applier = Applier::new(remote).await?;
        applier.remove_all(remove_finalizers).await
    };
    let outcome = removed.await.map_err(|e| e.to_string())?;
    Ok(RemovalReport {
        objects: outcome.pruned,
        remaining: outcome.warnings.iter().map(ToString::to_string).collect(),
    })
}
