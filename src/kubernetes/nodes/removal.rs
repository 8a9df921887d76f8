//! Removes from a cluster everything that the machines of any lab created.

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams};
use kube::{Client, ResourceExt};
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::is_not_found;

use super::fake_gpus;
use super::virtual_node::MANAGED;

/// The counts of removed nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedNodes {
    /// Number of virtual nodes.
    pub nodes: usize,
    /// Number of restored real nodes.
    pub restored: usize,
}

/// Removes all virtual nodes and reverts fake resources of real ones. Pods on virtual nodes are
/// left to the cluster's pod garbage collector.
///
/// # Errors
/// The cluster rejects a request or does not answer. Completed steps stay; the call can be
/// repeated.
pub async fn remove_all(client: &Client) -> kube::Result<RemovedNodes> {
    let restored = fake_gpus::restore_all(client).await?;
    let api: Api<Node> = Api::all(client.clone());
    let params = ListParams::default().labels(&format!("{MANAGED}=true"));
    let mut nodes = 0;
    for node in api.list(&params).await?.items {
        match api.delete(&node.name_any(), &DeleteParams::default()).await {
            Err(error) if is_not_found(&error) => {}
            Err(error) => return Err(error),
            Ok(_) => nodes += 1,
        }
    }
    Ok(RemovedNodes { nodes, restored })
}
