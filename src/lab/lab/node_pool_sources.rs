//! The node pools of a lab: those of its own file, or those of the active preset.

use std::sync::Arc;

use kube::Client;
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use crate::lint_nodes::{cluster_nodes, pool_nodes};
use kueue_lab_machines::Machines;
use kueue_lab_nodes::NodePools;
use kueue_lab_presets::LabNode;

/// The sources of the node pools. Clones share them.
#[derive(Clone)]
pub(crate) struct NodePoolSources {
    machines: Arc<Machines>,
    pools: Arc<Mutex<Pools>>,
    /// Held while pools are applied.
    applying: Arc<tokio::sync::Mutex<()>>,
    /// A client if the cluster can have nodes beside those of the pools.
    real_nodes: Option<Client>,
}

struct Pools {
    /// The pools of the lab's own file.
    own: NodePools,
    /// The pools of the active preset, which replace them.
    preset: Option<NodePools>,
}

impl NodePoolSources {
    /// The sources; there are no nodes until [`start`](Self::start).
    pub(crate) fn new(machines: &Arc<Machines>, own: NodePools, preset: Option<NodePools>) -> Self {
        Self {
            machines: machines.clone(),
            pools: Arc::new(Mutex::new(Pools { own, preset })),
            applying: Arc::default(),
            real_nodes: None,
        }
    }

    /// Applies the pools of the preset, or else the lab's own, in a task; the task ends when the nodes exist.
    pub(crate) async fn start(&self) -> AbortOnDropHandle<()> {
        // No later change is applied before.
        let applying = self.applying.clone().lock_owned().await;
        let (machines, effective) = (self.machines.clone(), self.effective());
        AbortOnDropHandle::new(tokio::spawn(async move {
            machines.apply_pools(effective).await;
            drop(applying);
        }))
    }

    /// Sets the client of a cluster that can have nodes beside those of the pools.
    pub(crate) fn with_real_nodes(mut self, client: Option<Client>) -> Self {
        self.real_nodes = client;
        self
    }

    /// All nodes with the pools of a preset, or else with the lab's own: those of the pools, at their
    /// maximum sizes, and other nodes of the cluster.
    pub(crate) async fn all_nodes(&self, preset: Option<NodePools>) -> Vec<LabNode> {
        let pools = match preset {
            Some(pools) => pools,
            None => self.pools.lock().own.clone(),
        };
        let mut nodes = pool_nodes(&pools);
        if let Some(client) = &self.real_nodes {
            nodes.extend(cluster_nodes(client, &pools).await);
        }
        nodes
    }

    /// Replaces the pools of the lab's own file; returns the number of nodes if they have an effect. With `is_saved`
    /// nodes that another client deleted are created again also if no pool changed.
    pub(crate) async fn set_own(&self, own: NodePools, is_saved: bool) -> Option<u32> {
        let is_effective = {
            let mut pools = self.pools.lock();
            pools.own = own;
            pools.preset.is_none()
        };
        self.apply(is_saved && is_effective).await
    }

    /// Replaces the pools of the preset; returns the number of nodes if they have an effect.
    pub(crate) async fn set_preset(&self, preset: Option<NodePools>) -> Option<u32> {
        self.pools.lock().preset = preset;
        self.apply(false).await
    }

    fn effective(&self) -> NodePools {
        let pools = self.pools.lock();
        pools.preset.as_ref().unwrap_or(&pools.own).clone()
    }

    async fn apply(&self, is_saved: bool) -> Option<u32> {
        let _applying = self.applying.lock().await;
        let effective = self.effective();
        let deleted = self.machines.deleted_nodes();
        let has_deleted = deleted.is_some_and(|deleted| !deleted.borrow().is_empty());
        if effective == *self.machines.pools() && !(is_saved && has_deleted) {
            return None;
        }
        let count = effective.pools.iter().map(|pool| pool.count).sum();
        self.machines.apply_pools(effective).await;
        Some(count)
    }
}
