//! Queries for metrics: pending resources, scheduling hashes, subtrees of Cohorts and fair sharing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{Engine, PendingCounts};
use crate::cache::CohortSubtree;
use crate::queue::PendingClusterQueue;
use crate::resources::ResourceName;
use crate::workload::{EquivalenceHash, Info, LocalQueueKey};
use kueue_lab_api::v1beta2::Workload;

/// The pending workloads of a ClusterQueue.
#[derive(Clone, Debug, Default)]
pub struct PendingBreakdown {
    /// Active and inflight workloads.
    pub active: Vec<Arc<Workload>>,
    /// Inadmissible workloads.
    pub inadmissible: Vec<Arc<Workload>>,
}

impl Engine {
    /// The pending workloads of a ClusterQueue. Those of an inactive one are all inadmissible.
    pub fn pending_breakdown(&self, queue: &str) -> PendingBreakdown {
        let objects = |infos: Vec<&Arc<Info>>| infos.iter().map(|i| i.obj.clone()).collect();
        let (active, inadmissible) = self.pending_infos(queue);
        PendingBreakdown {
            active: objects(active),
            inadmissible: objects(inadmissible),
        }
    }

    /// The active and inflight pending workloads, and the inadmissible ones.
    fn pending_infos(&self, queue: &str) -> (Vec<&Arc<Info>>, Vec<&Arc<Info>>) {
        let Some(pending) = self.queues.cluster_queue(queue) else {
            return Default::default();
        };
        let mut active: Vec<&Arc<Info>> = pending.iter_active_and_inflight().collect();
        let mut inadmissible: Vec<&Arc<Info>> = pending.iter_inadmissible().collect();
        if !self.active_condition(queue).active {
            inadmissible.append(&mut active);
        }
        (active, inadmissible)
    }

    /// The number of pending workloads of a LocalQueue. Those of an inactive ClusterQueue are all
    /// inadmissible.
    pub fn local_queue_pending_counts(&self, queue: &str, key: &LocalQueueKey) -> PendingCounts {
        let (active, inadmissible) = self.pending_infos(queue);
        let count = |infos: Vec<&Arc<Info>>| {
            let of_queue = infos.iter().filter(|info| info.local_queue == *key);
            of_queue.count()
        };
        PendingCounts {
            active: count(active),
            inadmissible: count(inadmissible),
        }
    }

    /// The number of scheduling hashes of the pending workloads of a ClusterQueue. Those of an
    /// inactive one are all inadmissible.
    pub fn pending_scheduling_hashes(&self, queue: &str) -> PendingCounts {
        let (active, inadmissible) = self.pending_infos(queue);
        let count = |infos: Vec<&Arc<Info>>| {
            let hashes = infos.iter().map(|info| info.scheduling_hash);
            let known: BTreeSet<EquivalenceHash> = hashes.filter(|h| h.is_known()).collect();
            known.len()
        };
        PendingCounts {
            active: count(active),
            inadmissible: count(inadmissible),
        }
    }

    /// The total requests of the pending workloads of a ClusterQueue, with zero for the other
    /// resources of its quota.
    pub fn pending_resources(&self, queue: &str) -> BTreeMap<String, Quantity> {
        let mut totals: BTreeMap<&str, (ResourceName, i64)> = BTreeMap::new();
        let covered = self.cache.cluster_queue(queue).map(|q| &q.groups);
        for resource in covered
            .iter()
            .flat_map(|g| g.iter())
            .flat_map(|g| &g.covered)
        {
            totals.insert(resource.as_str(), (*resource, 0));
        }
        let pending = self.queues.cluster_queue(queue);
        for info in pending.into_iter().flat_map(PendingClusterQueue::iter) {
            for (resource, amount) in info.total_requests.iter().flat_map(|ps| ps.requests.iter()) {
                let (_, total) = totals.entry(resource.as_str()).or_insert((resource, 0));
                *total = total.saturating_add(amount);
            }
        }
        let quantity = |(name, (resource, total)): (&str, (ResourceName, i64))| {
            let quantity = self.config.formatter.quantity(resource, total);
            (name.to_owned(), quantity)
        };
        totals.into_iter().map(quantity).collect()
    }

    /// The admitted workloads of a ClusterQueue.
    pub fn admitted_workloads(&self, queue: &str) -> Vec<Arc<Workload>> {
        let queue = self.cache.cluster_queue(queue);
        let reserving = queue.iter().flat_map(|q| q.reserving_workloads());
        let workloads = reserving.filter_map(|wl| self.cache.workload(wl.idx));
        workloads
            .map(|wl| wl.info.obj.clone())
            .filter(|wl| crate::workload::predicates::is_admitted(wl))
            .collect()
    }

    /// The subtrees of all Cohorts.
    pub fn cohort_subtrees(&self) -> Vec<CohortSubtree> {
        self.cache.cohort_subtrees()
    }

    /// The weighted share of a ClusterQueue; none without fair sharing.
    pub fn cluster_queue_precise_weighted_share(&mut self, queue: &str) -> Option<f64> {
        let node = self.cache.node_of(queue)?;
        let fair = self.config.fair_sharing_enabled();
        fair.then(|| self.cache.precise_weighted_share(node))
    }

    /// The weighted share of a Cohort; none without fair sharing.
    pub fn cohort_precise_weighted_share(&mut self, cohort: &str) -> Option<f64> {
        let node = self.cache.hierarchy.cohort(cohort)?;
        let fair = self.config.fair_sharing_enabled();
        fair.then(|| self.cache.precise_weighted_share(node))
    }

    /// The admission fair sharing usage of a LocalQueue; none without admission fair sharing or
    /// before the first sample.
    pub fn admission_fair_sharing_usage(&self, key: &LocalQueueKey) -> Option<f64> {
        let afs = self.config.afs()?;
        self.ledger.get(key)?;
        let weight = crate::afs::local_queue_weight(self.store.local_queues.get(key)?);
        Some(self.ledger.usage(key, weight, afs))
    }
}
