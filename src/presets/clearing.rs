//! Taking away from a cluster whatever any lab's presets put there.

use kube::Client;

use super::applying::Applier;
use super::remote::Remote;

/// What was taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// How many objects.
    pub objects: usize,
    /// What stays, and why; a line each.
    pub left: Vec<String>,
}

/// Removes the objects of presets, as far as they still say that they are. `unattended` is for a
/// cluster on which nobody runs the controller: finalizers that only it takes off are taken off here.
///
/// # Errors
/// What the cluster says. What was done stays done; it can be called again.
pub async fn clear(client: &Client, unattended: bool) -> Result<Cleared, String> {
    let remote = Remote {
        client: client.clone(),
    };
    let cleared = async {
        let mut applier = Applier::new(remote).await?;
        applier.take_all_away(unattended).await
    };
    let outcome = cleared.await.map_err(|e| e.to_string())?;
    Ok(Cleared {
        objects: outcome.pruned,
        left: outcome.warnings.iter().map(ToString::to_string).collect(),
    })
}
