//! [`DesiredNodes`]: the virtual nodes of the node pools and of scale-ups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::virtual_node::KubeletAddress;
use super::{ClusterType, NodePool, NodePools};

#[derive(Default)]
pub(super) struct DesiredNodes {
    pub(super) pools: Arc<NodePools>,
    pub(super) nodes: BTreeMap<String, PoolNode>,
    pub(super) failed: BTreeSet<String>,
    /// Nodes with the annotation that stops their kubelet.
    pub(super) stopped: BTreeSet<String>,
    /// Nodes that another client deleted. They are not created again.
    pub(super) deleted: BTreeSet<String>,
    /// UIDs of nodes whose deletion the lab requested.
    pub(super) removed: BTreeSet<String>,
    /// Sizes of pools that were scaled up beyond the file's count.
    pub(super) scaled_up: BTreeMap<String, u32>,
    /// When the nodes of a scale-up exist, by name.
    pub(super) provisioned_at: BTreeMap<String, Timestamp>,
    /// Whether pools were applied; before that no node is deleted.
    pub(super) applied: bool,
    /// Whether writes are paused.
    pub(super) paused: bool,
    /// Address of the kubelets, if they are served.
    pub(super) kubelet: Option<KubeletAddress>,
    next_number: u32,
}

/// The pool and index of a node name.
#[derive(Clone)]
pub(super) struct PoolNode {
    pub(super) pool: Arc<NodePool>,
    pub(super) index: u32,
    pub(super) number: u32,
}

impl DesiredNodes {
    /// The size of a pool: the file's count, or more after a scale-up.
    pub(super) fn size(&self, pool: &NodePool) -> u32 {
        let grown = self.scaled_up.get(&pool.name).copied().unwrap_or(0);
        let bound = pool.autoscale.map_or(pool.count, |a| a.max);
        grown.min(bound).max(pool.count)
    }

    pub(super) fn scale_up(&mut self, pool: &NodePool, count: u32, now: Timestamp) {
        let size = self.size(pool);
        if count <= size {
            return;
        }
        self.scaled_up.insert(pool.name.clone(), count);
        for index in 0..size {
            self.deleted.remove(&pool.node_name(index));
        }
        let delay = pool.autoscale.map_or(Duration::ZERO, |a| a.delay);
        for index in size..self.size(pool) {
            let name = pool.node_name(index);
            self.provisioned_at.insert(name, now + delay);
        }
    }

    /// Whether no kubelet runs on the node: a simulated power failure, or a stopped kubelet.
    pub(super) fn has_failed(&self, name: &str) -> bool {
        self.failed.contains(name) || self.stopped.contains(name)
    }

    /// Records that a node of the lab was deleted: it stays deleted, unless the lab requested the deletion.
    /// Returns whether `deleted` changed.
    pub(super) fn record_deletion(&mut self, name: &str, uid: &str) -> bool {
        let is_own = self.removed.remove(uid);
        self.stopped.remove(name);
        !is_own && self.nodes.contains_key(name) && self.deleted.insert(name.to_owned())
    }

    pub(super) fn replace(&mut self, pools: NodePools, cluster_type: ClusterType) {
        let mut nodes = BTreeMap::new();
        for pool in &pools.pools {
            let shared = Arc::new(cluster_type.adjust_pool(pool));
            for index in 0..self.size(pool) {
                let name = pool.node_name(index);
                // A node keeps its number and its addresses until it is deleted.
                let number = match self.nodes.get(&name) {
                    Some(pool_node) => pool_node.number,
                    None => {
                        self.next_number += 1;
                        self.next_number - 1
                    }
                };
                let pool_node = PoolNode {
                    pool: shared.clone(),
                    index,
                    number,
                };
                nodes.insert(name, pool_node);
            }
        }
        self.failed.retain(|name| nodes.contains_key(name));
        self.deleted.retain(|name| nodes.contains_key(name));
        self.provisioned_at
            .retain(|name, _| nodes.contains_key(name));
        self.nodes = nodes;
        self.pools = Arc::new(pools);
        self.applied = true;
    }
}
