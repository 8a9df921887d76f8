//! Events of ClusterQueues, LocalQueues and Cohorts.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Engine, order_context};
use crate::afs::local_queue_weight;
use crate::dra;
use crate::queue::RequeueRequest;
use crate::workload::{LocalQueueKey, predicates};
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort, LocalQueue, StopPolicy};

/// ClusterQueues.
impl Engine {
    /// Adds or updates a ClusterQueue.
    pub(super) fn upsert_cluster_queue(&mut self, cq: Arc<ClusterQueue>, now: Timestamp) {
        let name = cq.metadata.name.clone().unwrap_or_default();
        if cq.metadata.deletion_timestamp.is_some() {
            self.cache.terminate_cluster_queue(&name);
            if let Some(known) = self.store.cluster_queues.get_mut(&name) {
                *known = cq;
                return;
            }
        }
        match self.store.cluster_queues.insert(name.clone(), cq.clone()) {
            None => self.cluster_queue_created(&name, &cq, now),
            Some(old) => self.cluster_queue_updated(&name, &old, &cq, now),
        }
        if cq.metadata.deletion_timestamp.is_some() {
            self.cache.terminate_cluster_queue(&name);
        }
    }

    fn cluster_queue_created(&mut self, name: &str, cq: &ClusterQueue, now: Timestamp) {
        // With an invalid selector or in a cohort cycle it is added, but inactive.
        if self.cache.add_cluster_queue(cq, &self.config).is_ok() {
            let of_queue = self.store.local_queues.iter();
            let of_queue = of_queue.filter(|(_, lq)| lq.spec.cluster_queue == name);
            for (key, _) in of_queue {
                let _ = self.cache.add_local_queue(name, key);
            }
            for wl in self.store.workloads_in(name) {
                let _ = self.cache.upsert_workload(wl, &self.config);
            }
        }
        // It does not exist: it was not in the store.
        let _ = self.queues.add_cluster_queue(cq, order_context!(self));
        self.notify_retry_inadmissible([name.into()], now);
    }

    fn cluster_queue_updated(
        &mut self,
        name: &str,
        old: &ClusterQueue,
        cq: &ClusterQueue,
        now: Timestamp,
    ) {
        // An invalid part of the spec is not applied; the status of the ClusterQueue reports it.
        let _ = self.cache.update_cluster_queue(cq, &self.config);
        let ctx = order_context!(self);
        if self.queues.update_cluster_queue(cq, ctx).is_ok() && old.spec != cq.spec {
            self.notify_retry_inadmissible([name.into()], now);
        }
    }

    /// Deletes a ClusterQueue.
    pub(super) fn delete_cluster_queue(&mut self, name: &str) {
        if self.store.cluster_queues.remove(name).is_some() {
            self.cache.delete_cluster_queue(name);
            self.queues.delete_cluster_queue(name);
        }
    }

    /// A ClusterQueue.
    pub fn cluster_queue(&self, name: &str) -> Option<&Arc<ClusterQueue>> {
        self.store.cluster_queues.get(name)
    }
}

/// LocalQueues.
impl Engine {
    /// Adds or updates a LocalQueue.
    pub(super) fn upsert_local_queue(&mut self, lq: Arc<LocalQueue>) {
        let key = local_queue_key(&lq);
        match self.store.insert_local_queue(&key, lq.clone()) {
            None => {
                if lq.spec.stop_policy() == StopPolicy::None {
                    self.add_local_queue_to_queues(&key, &lq);
                }
                // It is not in the cache yet.
                let _ = self.cache.add_local_queue(&lq.spec.cluster_queue, &key);
            }
            Some(old) => self.local_queue_updated(&key, &old, &lq),
        }
    }

    /// Adds a LocalQueue and its workloads to the queues.
    fn add_local_queue_to_queues(&mut self, key: &LocalQueueKey, lq: &LocalQueue) {
        let gates = &self.config.gates;
        // Workloads with device requests are queued when those are resolved.
        let workloads = self.store.workloads_of(key).filter(|wl| {
            !predicates::is_admissible(wl, gates)
                || !dra::needs_dra_reconcile(wl, &self.dra_cache, gates)
        });
        let queue = &lq.spec.cluster_queue;
        let weight = local_queue_weight(lq);
        let ctx = order_context!(self);
        // An existing LocalQueue stays as it is.
        let _ =
            self.queues
                .add_local_queue(key, queue, weight, workloads, &self.cluster_objects, ctx);
    }

    fn local_queue_updated(&mut self, key: &LocalQueueKey, old: &LocalQueue, lq: &LocalQueue) {
        let (was, is) = (&old.spec.cluster_queue, &lq.spec.cluster_queue);
        let (before, after) = (old.spec.stop_policy(), lq.spec.stop_policy());
        let stopped = after != StopPolicy::None;
        if before != after && stopped {
            self.queues.delete_local_queue(key, order_context!(self));
            return;
        }
        if was != is {
            self.cache.delete_local_queue(was, key);
            let _ = self.cache.add_local_queue(is, key);
        }
        if before != after {
            self.add_local_queue_to_queues(key, lq);
        } else if !stopped {
            let weight = local_queue_weight(lq);
            let ctx = order_context!(self);
            let _ = self.queues.update_local_queue(key, is, weight, ctx);
        }
    }

    /// Deletes a LocalQueue.
    pub(super) fn delete_local_queue(&mut self, key: &LocalQueueKey) {
        let Some(last) = self.store.remove_local_queue(key) else {
            return;
        };
        self.queues.delete_local_queue(key, order_context!(self));
        self.cache.delete_local_queue(&last.spec.cluster_queue, key);
        self.ledger.delete(key);
    }

    /// A LocalQueue.
    pub fn local_queue(&self, key: &LocalQueueKey) -> Option<&Arc<LocalQueue>> {
        self.store.local_queues.get(key)
    }
}

fn local_queue_key(lq: &LocalQueue) -> LocalQueueKey {
    let (namespace, name) = (&lq.metadata.namespace, &lq.metadata.name);
    LocalQueueKey::new(
        namespace.as_deref().unwrap_or_default(),
        name.as_deref().unwrap_or_default(),
    )
}

/// Cohorts.
impl Engine {
    /// Adds or updates a Cohort. In a cycle its ClusterQueues are inactive until the cycle is
    /// resolved.
    pub(super) fn upsert_cohort(&mut self, cohort: Arc<Cohort>, now: Timestamp) {
        let name = cohort.metadata.name.clone().unwrap_or_default();
        let old = self.store.cohorts.insert(name.clone(), cohort.clone());
        if old.is_some_and(|old| old.spec == cohort.spec) {
            return;
        }
        if self.cache.upsert_cohort(&cohort).is_err() {
            return;
        }
        let hierarchy = &self.cache.hierarchy;
        if let Some(node) = hierarchy.cohort(&name) {
            let root = RequeueRequest::Cohort(hierarchy[hierarchy.root(node)].name.clone());
            self.queues.add_requeue_request(root, now);
        }
    }

    /// A Cohort that has an object.
    pub fn cohort(&self, name: &str) -> Option<&Arc<Cohort>> {
        self.store.cohorts.get(name)
    }

    /// Requests that the inadmissible workloads of a cohort tree are requeued, as upstream does
    /// whenever it reconciles the Cohort, also on status changes.
    pub fn notify_retry_inadmissible_in_cohort(&mut self, name: &str, now: Timestamp) {
        let hierarchy = &self.cache.hierarchy;
        if let Some(node) = hierarchy
            .cohort(name)
            .filter(|&node| !hierarchy.has_cycle(node))
        {
            let root = RequeueRequest::Cohort(hierarchy[hierarchy.root(node)].name.clone());
            self.queues.add_requeue_request(root, now);
        }
    }

    /// The names of a cohort and its ancestors without the root. Empty in a cycle.
    pub fn cohorts_below_root(&self, name: &str) -> Vec<Arc<str>> {
        let hierarchy = &self.cache.hierarchy;
        let Some(node) = hierarchy
            .cohort(name)
            .filter(|&node| !hierarchy.has_cycle(node))
        else {
            return Vec::new();
        };
        let path = std::iter::once(node).chain(hierarchy.ancestors(node));
        path.filter(|&node| hierarchy.has_parent(node))
            .map(|node| hierarchy[node].name.clone())
            .collect()
    }

    /// Deletes a Cohort.
    pub(super) fn delete_cohort(&mut self, name: &str) {
        if self.store.cohorts.remove(name).is_some() {
            self.cache.delete_cohort(name);
        }
    }
}
