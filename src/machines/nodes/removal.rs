//! Taking away from a cluster whatever any lab's machines put there.

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams};
use kube::{Client, ResourceExt};
use kueue_lab_runtime::Api;

use super::fake_gpus;
use super::virtual_node::MANAGED;

/// What was taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedNodes {
    /// How many virtual nodes.
    pub nodes: usize,
    /// How many real nodes have nothing fake on them any more.
    pub restored: usize,
}

/// Removes all virtual nodes and takes back what real ones were given. Pods on virtual nodes are left
/// to the cluster, which removes pods whose node is gone.
///
/// # Errors
/// The cluster refuses or does not answer. What was done stays done; it can be called again.
pub async fn remove_all(client: &Client) -> kube::Result<RemovedNodes> {
    let restored = fake_gpus::restore_all(client).await?;
    let api: Api<Node> = Api::all(client.clone());
    let ours = ListParams::default().labels(&format!("{MANAGED}=true"));
    let mut nodes = 0;
    for node in api.list(&ours).await?.items {
        match api.delete(&node.name_any(), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error),
            Ok(_) => nodes += 1,
        }
    }
    Ok(RemovedNodes { nodes, restored })
}
