//! The nodes of a lab, for the warnings about presets.

use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use kueue_lab_nodes::{NodePool, NodePools, is_managed};
use kueue_lab_presets::LabNode;
use kueue_lab_quantity::Quantity;

/// The nodes of pools at their maximum sizes.
pub fn pool_nodes(pools: &NodePools) -> Vec<LabNode> {
    let at_maximum = |pool: &NodePool| NodePool {
        count: pool
            .autoscale
            .map_or(pool.count, |autoscale| autoscale.max.max(pool.count)),
        ..pool.clone()
    };
    let pools = NodePools {
        pools: pools.pools.iter().map(at_maximum).collect(),
        ..NodePools::default()
    };
    let nodes = pools.nodes(jiff::Timestamp::UNIX_EPOCH);
    nodes.iter().map(lab_node).collect()
}

/// The nodes of a cluster, without the virtual ones if these are in pools. None if they cannot be listed.
pub(crate) async fn cluster_nodes(client: &Client, pools: &NodePools) -> Vec<LabNode> {
    let nodes: Api<Node> = Api::all(client.clone());
    let listed = nodes.list(&ListParams::default()).await;
    let nodes = listed.map(|list| list.items).unwrap_or_default();
    let is_other = |node: &&Node| pools.pools.is_empty() || !is_managed(node);
    nodes.iter().filter(is_other).map(lab_node).collect()
}

fn lab_node(node: &Node) -> LabNode {
    let status = node.status.as_ref();
    let allocatable = status.and_then(|status| status.allocatable.as_ref());
    let allocatable = allocatable.into_iter().flatten();
    LabNode {
        labels: node.labels().clone(),
        allocatable: allocatable
            .filter_map(|(name, quantity)| Some((name.clone(), Quantity::parse(&quantity.0).ok()?)))
            .collect(),
    }
}
