//! The node pools of a lab: those of its own file, or those of the active preset.

use std::sync::Arc;

use tokio::sync::Mutex;

use kueue_lab_machines::Machines;
use kueue_lab_machines::nodes::NodePools;

/// The sources of the node pools. Clones share them.
#[derive(Clone)]
pub(crate) struct NodePoolSources {
    machines: Arc<Machines>,
    pools: Arc<Mutex<Pools>>,
}

struct Pools {
    /// The pools of the lab's own file.
    own: NodePools,
    /// The pools of the active preset, which replace them.
    preset: Option<NodePools>,
}

impl NodePoolSources {
    /// Applies the pools of the preset, or else the lab's own.
    pub(crate) async fn start(
        machines: &Arc<Machines>,
        own: NodePools,
        preset: Option<NodePools>,
    ) -> Self {
        let effective = preset.as_ref().unwrap_or(&own).clone();
        machines.apply_pools(effective).await;
        Self {
            machines: machines.clone(),
            pools: Arc::new(Mutex::new(Pools { own, preset })),
        }
    }

    /// Replaces the pools of the lab's own file; returns the number of nodes if they have an effect.
    pub(crate) async fn set_own(&self, own: NodePools) -> Option<u32> {
        let mut pools = self.pools.lock().await;
        pools.own = own;
        self.apply(&pools).await
    }

    /// Replaces the pools of the preset; returns the number of nodes if they have an effect.
    pub(crate) async fn set_preset(&self, preset: Option<NodePools>) -> Option<u32> {
        let mut pools = self.pools.lock().await;
        pools.preset = preset;
        self.apply(&pools).await
    }

    async fn apply(&self, pools: &Pools) -> Option<u32> {
        let effective = pools.preset.as_ref().unwrap_or(&pools.own);
        if *effective == *self.machines.pools() {
            return None;
        }
        self.machines.apply_pools(effective.clone()).await;
        Some(effective.pools.iter().map(|pool| pool.count).sum())
    }
}
