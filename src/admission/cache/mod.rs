//! The cache: who holds how much of what. ClusterQueues and cohorts with their quota, flavors,
//! checks, and the workloads that hold quota.
//!
//! Must not know of pending workloads.

mod cached_workloads;
mod cluster_queue;
mod cluster_queue_active;
mod cluster_queue_queries;
mod dominant_resource_share;
mod hierarchy;
mod local_queue;
mod object_updates;
mod preemption_policies;
mod reserving_workloads;
mod resource_node;
mod usage_stats;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use cached_workloads::{CachedWorkload, WorkloadIndex, usage_of};
pub use cluster_queue::{
    AdmissionChecks, ClusterQueue, ConcurrentAdmission, FlavorFungibilityConfig, QueueStatus,
    ReservingWorkload, ResourceGroup, admission_checks,
};
pub use cluster_queue_active::{ActiveCondition, AdmissionCheckInfo};
pub use dominant_resource_share::{Drs, WeightedShare};
pub use hierarchy::{
    CohortHasCycle, CohortHierarchy, HierarchyNode, HierarchyNodeId, HierarchyNodeKind,
};
pub use local_queue::LocalQueueUsage;
pub use object_updates::{CacheError, QueueNames};
pub use preemption_policies::{BorrowWithinCohort, PreemptionPolicies, PreemptionPolicy};
pub use resource_node::{Quota, ResourceNode};
pub use usage_stats::{ClusterQueueUsageStats, LocalQueueUsageStats};

use super::config::EngineConfig;
use super::feature_gates::Gates;
use super::hash_map::FastHashMap;
use super::resources::FlavorName;
use super::tas::TasCache;
use super::workload::WorkloadKey;
use kueue_lab_api::v1beta2::ResourceFlavor;

/// Who holds how much of what.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// Quota and usage.
    pub hierarchy: CohortHierarchy,
    queues: BTreeMap<Arc<str>, HierarchyNodeId>,
    by_node: Vec<Option<Box<ClusterQueue>>>,
    flavors: BTreeMap<FlavorName, Arc<ResourceFlavor>>,
    checks: BTreeMap<String, AdmissionCheckInfo>,
    /// Topologies, nodes, and where workloads that hold quota are placed.
    pub tas: TasCache,
    workloads: cached_workloads::CachedWorkloads,
    /// The ClusterQueue each workload was last counted in, as long as it holds quota.
    assigned: FastHashMap<WorkloadKey, Arc<str>>,
}

impl Cache {
    /// A cache that knows nothing yet.
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

    /// The ClusterQueue behind a node.
    pub fn cluster_queue_by_node(&self, node: HierarchyNodeId) -> Option<&ClusterQueue> {
        self.by_node.get(node.index())?.as_deref()
    }

    fn cluster_queue_by_node_mut(&mut self, node: HierarchyNodeId) -> Option<&mut ClusterQueue> {
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

    /// A workload that holds quota.
    pub fn workload(&self, idx: WorkloadIndex) -> Option<&CachedWorkload> {
        self.workloads.get(idx)
    }

    /// A workload that holds quota, to mark it.
    pub fn workload_mut(&mut self, idx: WorkloadIndex) -> Option<&mut CachedWorkload> {
        self.workloads.get_mut(idx)
    }

    /// A workload that holds quota, by key, wherever it holds it.
    pub fn workload_by_key(&self, key: &WorkloadKey) -> Option<&CachedWorkload> {
        self.workload(self.index_of(key)?)
    }

    /// The place of a workload that holds quota, wherever it holds it.
    pub fn index_of(&self, key: &WorkloadKey) -> Option<WorkloadIndex> {
        self.cluster_queue(self.assigned.get(key)?)?
            .reserving_workload(key)
    }

    /// Whether the topology of a TAS flavor is there.
    pub fn has_topology(&self, flavor: &str) -> bool {
        self.tas.has_topology(flavor)
    }

    /// Marks the ClusterQueues that take part in a cycle: active ones, whose cohorts form no cycle,
    /// and whose placed workloads are all charged.
    pub(super) fn mark_active(&mut self, config: &EngineConfig) {
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
