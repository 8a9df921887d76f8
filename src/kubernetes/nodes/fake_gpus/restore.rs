//! Restores real nodes to what they were before fake resources were applied.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::ListParams;
use kueue_lab_controller_runtime::Api;
use serde_json::json;

use super::fake_gpu_controller::{apply_metadata, write_resources, write_taints};
use super::last_applied::LastApplied;
use crate::RealNodes;

/// Reverts on all nodes what any lab applied. Returns the number of restored nodes.
///
/// # Errors
/// The cluster rejects a request or does not answer.
pub(crate) async fn restore_all(client: &Client) -> kube::Result<usize> {
    let api: Api<Node> = Api::all(client.clone());
    let mut count = 0;
    for node in api.list(&ListParams::default()).await?.items {
        if let Some(last_applied) = LastApplied::of(&node) {
            restore_node(&api, &node, &last_applied).await?;
            count += 1;
        }
    }
    Ok(count)
}

pub(super) async fn restore_node(
    api: &Api<Node>,
    node: &Node,
    last_applied: &LastApplied,
) -> kube::Result<()> {
    let nothing = RealNodes {
        name: String::new(),
        selector: BTreeMap::new(),
        resources: BTreeMap::new(),
        labels: BTreeMap::new(),
        taints: Vec::new(),
    };
    let none = LastApplied::default();
    write_taints(api, node, last_applied, &none, &nothing).await?;
    write_resources(api, node, last_applied, &none, &nothing.resources).await?;
    // Fields that the manager no longer applies are removed: labels and annotation.
    apply_metadata(api, node, json!({})).await
}
