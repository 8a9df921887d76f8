//! Taking away from a cluster whatever any lab's presets put there.

use kube::Client;

use super::api_client::ApiClient;
use super::apply::Applier;

/// What was taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovalReport {
    /// How many objects.
    pub objects: usize,
    /// What stays, and why; a line each.
    pub remaining: Vec<String>,
}

/// Removes the objects of presets, as far as they still say that they are. `remove_finalizers` is for a
/// cluster on which nobody runs the controller: finalizers that only it takes off are taken off here.
///
/// # Errors
/// What the cluster says. What was done stays done; it can be called again.
pub async fn remove_preset_objects(
    client: &Client,
    remove_finalizers: bool,
) -> Result<RemovalReport, String> {
    let remote = ApiClient {
        client: client.clone(),
    };
    let cleared = async {
        let mut applier = Applier::new(remote).await?;
        applier.remove_all(remove_finalizers).await
    };
    let outcome = cleared.await.map_err(|e| e.to_string())?;
    Ok(RemovalReport {
        objects: outcome.pruned,
        remaining: outcome.warnings.iter().map(ToString::to_string).collect(),
    })
}
