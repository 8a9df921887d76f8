//! [`SnapshotTransaction`]: upstream's Snapshot, as a transaction over the live cache.
//!
//! A cycle works on the live cache: usage it adds and preemptions it simulates are recorded, and
//! dropping the snapshot rolls them back. Nothing is copied. Must not depend on queues.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::afs::AfsUsageLedger;
use super::cache::{Cache, CachedWorkload, ClusterQueue, HierarchyNodeId, WorkloadIndex};
use super::config::EngineConfig;
use super::hash_map::FastHashMap;
use super::resources::FlavorName;
use super::tas::{
    FindOptions, TasAssignmentsResult, TasFlavorSnapshot, TasSnapshots, WorkloadTasRequests,
};
use super::workload::{LocalQueueKey, QueueOrderKey, TasUsage, Usage};

/// Whether usage fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum FitsCheck {
    /// It fits.
    Ok,
    /// It exceeds the available quota.
    NoQuota,
    /// It fits the quota, but not its topology domains.
    NoTas,
}

/// Usage of LocalQueues, for admission fair sharing.
#[derive(Clone, Copy)]
pub struct LocalQueueUsages<'a> {
    /// Consumed usage and entry penalties.
    pub ledger: &'a AfsUsageLedger,
    /// The weights of LocalQueues; 1 by default.
    pub weights: &'a BTreeMap<LocalQueueKey, f64>,
}

/// A transaction over the cache for one scheduling cycle.
pub struct SnapshotTransaction<'a> {
    /// The cache.
    pub cache: &'a mut Cache,
    /// Configuration.
    pub config: &'a EngineConfig,
    /// The time of the cycle.
    pub now: Timestamp,
    local_queues: Option<LocalQueueUsages<'a>>,
    usage_memo: FastHashMap<LocalQueueKey, f64>,
    removed: Vec<WorkloadIndex>,
    tas: TasSnapshots,
}

impl<'a> SnapshotTransaction<'a> {
    /// Begins the transaction. `local_queues` is used while admission fair sharing is enabled.
    pub fn new(
        cache: &'a mut Cache,
        config: &'a EngineConfig,
        local_queues: Option<LocalQueueUsages<'a>>,
        now: Timestamp,
    ) -> Self {
        let with_tas = config.gates.topology_aware_scheduling;
        let tas = if with_tas {
            std::mem::take(cache.tas.snapshots())
        } else {
            Default::default()
        };
        cache.mark_active(config);
        cache.hierarchy.measure_heights();
        cache.hierarchy.begin();
        let local_queues = local_queues.filter(|_| config.afs().is_some());
        SnapshotTransaction {
            cache,
            config,
            now,
            local_queues,
            usage_memo: FastHashMap::default(),
            removed: Vec::new(),
            tas,
        }
    }

    /// The node of a ClusterQueue, if it is active in this cycle.
    pub fn active_node(&self, queue: &str) -> Option<HierarchyNodeId> {
        self.cache
            .node_of(queue)
            .filter(|&node| self.cache.hierarchy[node].active)
    }

    /// Whether a ClusterQueue exists but is inactive in this cycle.
    pub fn is_inactive(&self, queue: &str) -> bool {
        self.cache
            .node_of(queue)
            .is_some_and(|node| !self.cache.hierarchy[node].active)
    }

    /// The ClusterQueue of a node. Every ClusterQueue node has one.
    pub fn cluster_queue(&self, node: HierarchyNodeId) -> Option<&ClusterQueue> {
        self.cache.cluster_queue_by_node(node)
    }

    /// A workload that reserves quota.
    pub fn workload(&self, idx: WorkloadIndex) -> Option<&CachedWorkload> {
        self.cache.workload(idx)
    }

    /// The workloads that reserve quota in a ClusterQueue, without those a simulation removed.
    pub fn reserving_workloads(
        &self,
        node: HierarchyNodeId,
    ) -> impl Iterator<Item = (WorkloadIndex, &CachedWorkload)> {
        self.reserving_workloads_where(node, |_| true)
    }

    /// The workloads that reserve quota in a ClusterQueue, without those a simulation removed,
    /// whose order key passes a test.
    pub(crate) fn reserving_workloads_where(
        &self,
        node: HierarchyNodeId,
        passes: impl Fn(QueueOrderKey) -> bool,
    ) -> impl Iterator<Item = (WorkloadIndex, &CachedWorkload)> {
        let workloads = self
            .cache
            .cluster_queue_by_node(node)
            .map(ClusterQueue::reserving_workloads);
        let workloads = workloads.unwrap_or_default().iter();
        workloads
            .filter(move |workload| passes(workload.order_key))
            .filter_map(|workload| Some((workload.idx, self.cache.workload(workload.idx)?)))
            .filter(|(_, wl)| !wl.removed)
    }

    /// The topology snapshot of a flavor of a ClusterQueue.
    pub(crate) fn tas_flavor(
        &self,
        node: HierarchyNodeId,
        flavor: &str,
    ) -> Option<&TasFlavorSnapshot> {
        let queue = self.cluster_queue(node)?;
        self.tas.get(flavor).filter(|_| queue.uses_flavor(flavor))
    }

    /// Whether any flavor of a ClusterQueue has a topology snapshot, as upstream's `len(TASFlavors)
    /// > 0`.
    pub(crate) fn has_tas_flavors(&self, node: HierarchyNodeId) -> bool {
        self.cluster_queue(node)
            .is_some_and(|q| q.flavors().any(|f| self.tas.get(f).is_some()))
    }

    /// Those of the given flavors that have a topology snapshot in a ClusterQueue.
    pub(crate) fn tas_flavors_among<'f>(
        &self,
        node: HierarchyNodeId,
        flavors: impl Iterator<Item = &'f FlavorName>,
    ) -> Vec<FlavorName> {
        let mut found: Vec<FlavorName> = flavors
            .filter(|f| self.tas_flavor(node, f).is_some())
            .cloned()
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// Finds topology assignments for the pod sets of a workload.
    pub fn find_topology_assignments(
        &mut self,
        requests: &WorkloadTasRequests<'_>,
        options: FindOptions<'_>,
    ) -> TasAssignmentsResult {
        self.tas.find_topology_assignments(requests, options)
    }

    /// Adds usage.
    pub fn add_usage(&mut self, node: HierarchyNodeId, usage: &Usage) {
        for (fr, amount) in usage.quota.iter() {
            self.cache.hierarchy.add_usage(node, fr, amount);
        }
        self.change_tas(node, &usage.tas, true);
    }

    /// Removes usage.
    pub fn remove_usage(&mut self, node: HierarchyNodeId, usage: &Usage) {
        for (fr, amount) in usage.quota.iter() {
            self.cache.hierarchy.remove_usage(node, fr, amount);
        }
        self.change_tas(node, &usage.tas, false);
    }

    fn change_tas(&mut self, node: HierarchyNodeId, usage: &TasUsage, add: bool) {
        if usage.is_empty() {
            return;
        }
        let Some(queue) = self.cache.cluster_queue_by_node(node) else {
            return;
        };
        for (flavor, domains) in usage.iter().filter(|(f, _)| queue.uses_flavor(f)) {
            if let Some(topology) = self.tas.get_mut(flavor) {
                if add {
                    topology.add_usage(domains);
                } else {
                    topology.remove_usage(domains);
                }
            }
        }
    }

    /// Whether usage fits the available quota and the topology domains.
    pub fn fits(&self, node: HierarchyNodeId, usage: &Usage) -> FitsCheck {
        if usage
            .quota
            .iter()
            .any(|(fr, amount)| self.available(node, fr) < amount)
        {
            return FitsCheck::NoQuota;
        }
        if !self.tas.fits(&usage.tas) {
            return FitsCheck::NoTas;
        }
        FitsCheck::Ok
    }

    /// The quota available to a ClusterQueue; zero when it or its cohort uses more than its quota.
    pub fn available(
        &self,
        node: HierarchyNodeId,
        fr: super::resources::FlavorResourceId,
    ) -> super::resources::Amount {
        self.cache.hierarchy.available(node, fr).or_zero()
    }

    /// Removes the usage of a workload that reserves quota.
    pub(crate) fn remove_workload_usage(&mut self, idx: WorkloadIndex) {
        self.change_workload(idx, false);
    }

    /// Adds the usage of a workload that reserves quota back.
    pub(crate) fn add_workload_usage(&mut self, idx: WorkloadIndex) {
        self.change_workload(idx, true);
    }

    fn change_workload(&mut self, idx: WorkloadIndex, add: bool) {
        let Some(workload) = self.cache.workload(idx) else {
            return;
        };
        let node = workload.queue;
        let (usage, tas) = (workload.usage.clone(), workload.tas_usage.clone());
        for (fr, amount) in usage.iter() {
            if add {
                self.cache.hierarchy.add_usage(node, fr, amount);
            } else {
                self.cache.hierarchy.remove_usage(node, fr, amount);
            }
        }
        if let Some(tas) = tas {
            self.change_tas(node, &tas, add);
        }
    }

    /// Removes a workload that reserves quota, with its usage.
    pub fn remove_workload(&mut self, idx: WorkloadIndex) {
        self.set_removed(idx, true);
        self.remove_workload_usage(idx);
    }

    /// Adds a workload that reserves quota back, with its usage.
    pub fn add_workload(&mut self, idx: WorkloadIndex) {
        self.set_removed(idx, false);
        self.add_workload_usage(idx);
    }

    fn set_removed(&mut self, idx: WorkloadIndex, removed: bool) {
        if let Some(workload) = self.cache.workload_mut(idx) {
            workload.removed = removed;
        }
        if removed {
            self.removed.push(idx);
        }
    }

    /// The fair sharing usage of a workload's LocalQueue, if its ClusterQueue uses admission fair
    /// sharing.
    pub fn local_queue_usage(&mut self, idx: WorkloadIndex) -> Option<f64> {
        let (usages, afs) = (self.local_queues?, self.config.afs()?);
        let workload = self.cache.workload(idx)?;
        if !self
            .cache
            .cluster_queue_by_node(workload.queue)?
            .uses_admission_fair_sharing()
        {
            return None;
        }
        let key = &workload.info.local_queue;
        if let Some(&usage) = self.usage_memo.get(key) {
            return Some(usage);
        }
        let weight = usages.weights.get(key).copied().unwrap_or(1.0);
        let usage = usages.ledger.usage(key, weight, afs);
        self.usage_memo.insert(key.clone(), usage);
        Some(usage)
    }
}

impl Drop for SnapshotTransaction<'_> {
    fn drop(&mut self) {
        self.cache.hierarchy.roll_back();
        for idx in std::mem::take(&mut self.removed) {
            self.set_removed(idx, false);
        }
        if self.config.gates.topology_aware_scheduling {
            self.tas.rollback(&Default::default());
            *self.cache.tas.snapshots() = std::mem::take(&mut self.tas);
        }
    }
}
