//! [`Cache`]: ClusterQueues and cohorts with their quota, flavors, admission checks, and the
//! workloads that reserve quota.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cached_workloads::{CachedWorkload, CachedWorkloads, WorkloadIndex};
use super::cluster_queue::ClusterQueue;
use super::cluster_queue_active::AdmissionCheckInfo;
use crate::config::EngineConfig;
use crate::feature_gates::Gates;
use crate::hash_map::FastHashMap;
use crate::resources::FlavorName;
use crate::tas::TasCache;
use crate::workload::WorkloadKey;
use kueue_lab_api::v1beta2::ResourceFlavor;
use kueue_lab_quota_tree::{CohortHierarchy, HierarchyNodeId};

/// Upstream's scheduler cache.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// Quota and usage of ClusterQueues and Cohorts.
    pub hierarchy: CohortHierarchy,
    pub(super) queues: BTreeMap<Arc<str>, HierarchyNodeId>,
    pub(super) by_node: Vec<Option<Box<ClusterQueue>>>,
    pub(super) flavors: BTreeMap<FlavorName, Arc<ResourceFlavor>>,
    pub(super) checks: BTreeMap<String, AdmissionCheckInfo>,
    /// Topologies, nodes, and TAS usage of workloads that reserve quota.
    pub tas: TasCache,
    pub(super) workloads: CachedWorkloads,
    /// The ClusterQueue of each workload that reserves quota.
    pub(super) assigned: FastHashMap<WorkloadKey, Arc<str>>,
    /// The number of additions, updates and removals of workloads that reserve quota.
    pub(super) changes: u64,
}

impl Cache {
    /// An empty cache.
    pub fn new(gates: &Gates) -> Self {
        Cache {
            tas: TasCache::new(gates),
            ..Default::default()
        }
    }

    /// A ClusterQueue by name.
    pub fn cluster_queue(&self, name: &str) -> Option<&ClusterQueue> {
        self.cluster_queue_by_node(*self.queues.get(name)?)
    }

    /// The ClusterQueue of a node.
    pub(crate) fn cluster_queue_by_node(&self, node: HierarchyNodeId) -> Option<&ClusterQueue> {
        self.by_node.get(node.index())?.as_deref()
    }

    pub(super) fn cluster_queue_by_node_mut(
        &mut self,
        node: HierarchyNodeId,
    ) -> Option<&mut ClusterQueue> {
        self.by_node.get_mut(node.index())?.as_deref_mut()
    }

    /// All ClusterQueues, by name.
    pub fn cluster_queues(&self) -> impl Iterator<Item = &ClusterQueue> {
        self.queues
            .values()
            .filter_map(|&node| self.cluster_queue_by_node(node))
    }

    /// The node of a ClusterQueue.
    pub fn node_of(&self, name: &str) -> Option<HierarchyNodeId> {
        self.queues.get(name).copied()
    }

    /// A flavor by name.
    pub fn flavor(&self, name: &str) -> Option<&Arc<ResourceFlavor>> {
        self.flavors.get(name)
    }

    /// All flavors.
    pub fn flavors(&self) -> &BTreeMap<FlavorName, Arc<ResourceFlavor>> {
        &self.flavors
    }

    /// An admission check by name.
    pub fn check(&self, name: &str) -> Option<&AdmissionCheckInfo> {
        self.checks.get(name)
    }

    /// A workload that reserves quota.
    pub fn workload(&self, idx: WorkloadIndex) -> Option<&CachedWorkload> {
        self.workloads.get(idx)
    }

    /// A workload that reserves quota, mutably.
    pub(crate) fn workload_mut(&mut self, idx: WorkloadIndex) -> Option<&mut CachedWorkload> {
        self.workloads.get_mut(idx)
    }

    /// The index of a workload that reserves quota, in any ClusterQueue.
    pub fn index_of(&self, key: &WorkloadKey) -> Option<WorkloadIndex> {
        self.cluster_queue(self.assigned.get(key)?)?
            .reserving_workload(key)
    }

    /// A number that changes with the workloads that reserve quota.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether the Topology of a TAS flavor exists.
    pub(crate) fn has_topology(&self, flavor: &str) -> bool {
        self.tas.has_topology(flavor)
    }

    /// Marks the ClusterQueues that take part in a cycle: they are active, their cohorts form no
    /// cycle, and the TAS usage of their workloads is synced.
    pub(crate) fn mark_active(&mut self, config: &EngineConfig) {
        for &node in self.queues.values() {
            let active = self
                .by_node
                .get(node.index())
                .and_then(|q| q.as_deref())
                .is_some_and(|q| {
                    let tas = config.gates.topology_aware_scheduling && !q.tas_flavors.is_empty();
                    q.is_active() && !self.hierarchy.has_cycle(node) && (!tas || q.is_tas_synced)
                });
            self.hierarchy[node].active = active;
        }
    }
}
