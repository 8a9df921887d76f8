//! Scale-down: removes nodes that a scale-up added and that have been without pods for the pool's
//! unneeded time.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::capacity::outstanding_pods;
use kueue_lab_api::provisioning_request::ProvisioningRequest;
use kueue_lab_controller_runtime::{Context, Informer};
use kueue_lab_controller_utils::pods::{is_terminal, node_of};
use kueue_lab_nodes::VirtualNodeController;

/// Interval of the checks, as the cluster autoscaler's `--scan-interval`.
const SCAN_INTERVAL: Duration = Duration::from_secs(10);

/// The state of scale-down.
pub(super) struct ScaleDown {
    pub(super) context: Context,
    pub(super) requests: Informer<ProvisioningRequest>,
    pub(super) pods: Informer<Pod>,
    pub(super) virtual_nodes: VirtualNodeController,
}

impl ScaleDown {
    /// Checks the pools for ever. A pool without added nodes costs nothing.
    pub(super) async fn run(self) {
        let mut unneeded_since: BTreeMap<String, Timestamp> = BTreeMap::new();
        loop {
            self.context.clock.sleep(SCAN_INTERVAL).await;
            if !self.virtual_nodes.is_paused() {
                self.scan(&mut unneeded_since).await;
            }
        }
    }

    /// Removes at most one node of each pool: the last one, so that names stay consecutive.
    async fn scan(&self, unneeded_since: &mut BTreeMap<String, Timestamp>) {
        let now = self.context.clock.now();
        let mut unneeded = BTreeMap::new();
        for (pool, size) in self.virtual_nodes.sizes() {
            let Some(autoscale) = pool.autoscale.filter(|_| size > pool.count) else {
                continue;
            };
            let node = pool.node_name(size - 1);
            if self.is_needed(&node) {
                continue;
            }
            let since = unneeded_since.get(&node).copied().unwrap_or(now);
            let unneeded_time = Duration::try_from(now.duration_since(since)).unwrap_or_default();
            if unneeded_time >= autoscale.scale_down_unneeded_time {
                tracing::info!(node, "scale-down: removing a node without pods");
                self.virtual_nodes.scale_down(&pool.name, size).await;
            } else {
                unneeded.insert(node, since);
            }
        }
        *unneeded_since = unneeded;
    }

    /// Whether a node has pods, other than those of DaemonSets and finished ones, or capacity is
    /// booked for pods that do not exist yet.
    fn is_needed(&self, node: &str) -> bool {
        let pods = self.pods.list();
        let holds = |pod: &Pod| {
            let mut owners = pod.metadata.owner_references.iter().flatten();
            node_of(pod) == Some(node)
                && !is_terminal(pod)
                && !owners.any(|owner| owner.kind == "DaemonSet")
        };
        let requests = self.requests.list();
        let mut requests = requests.iter();
        pods.iter().any(|pod| holds(pod)) || requests.any(|r| outstanding_pods(r, &pods) > 0)
    }
}
