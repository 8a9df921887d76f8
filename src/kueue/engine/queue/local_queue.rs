//! The LocalQueues of the queue manager.

use std::sync::Arc;

use super::cluster_queue::{OrderContext, PendingClusterQueue};
use super::manager::{QueueError, QueueManager};
use crate::cluster_objects::ClusterObjects;
use crate::concurrent_admission;
use crate::hash_map::FastHashMap;
use crate::workload::{Info, LocalQueueKey, WorkloadKey, adjust_resources, predicates};
use kueue_lab_api::v1beta2::Workload;

/// A LocalQueue with its pending workloads.
#[derive(Clone, Debug)]
pub struct PendingLocalQueue {
    /// Its ClusterQueue.
    pub cluster_queue: Arc<str>,
    /// Its weight in admission fair sharing.
    pub weight: f64,
    pub(super) items: FastHashMap<WorkloadKey, Arc<Info>>,
}

impl PendingLocalQueue {
    /// The number of pending workloads.
    pub fn pending(&self) -> usize {
        self.items.len()
    }

    /// The pending workloads, by name.
    pub fn keys(&self) -> impl Iterator<Item = &WorkloadKey> {
        let mut keys: Vec<&WorkloadKey> = self.items.keys().collect();
        keys.sort_unstable();
        keys.into_iter()
    }
}

impl QueueManager {
    /// Adds a LocalQueue with its workloads.
    ///
    /// # Errors
    /// When it exists.
    pub fn add_local_queue<'a>(
        &mut self,
        key: &LocalQueueKey,
        cluster_queue: &str,
        weight: f64,
        workloads: impl Iterator<Item = &'a Arc<Workload>>,
        cluster_objects: &ClusterObjects,
        ctx: OrderContext<'_>,
    ) -> Result<(), QueueError> {
        if self.local_queues.contains_key(key) {
            return Err(QueueError::LocalQueueAlreadyExists);
        }
        if let Some(pending) = self.cluster_queues.get_mut(cluster_queue) {
            pending.set_weight(key, weight, ctx);
        }
        let mut queue = PendingLocalQueue {
            cluster_queue: cluster_queue.into(),
            weight,
            items: FastHashMap::default(),
        };
        for wl in workloads {
            let wl_key = predicates::key(wl);
            self.assigned.insert(wl_key.clone(), key.clone());
            if predicates::is_admissible(wl, &ctx.config.gates) {
                let info = Info::new(adjust_resources(wl, cluster_objects), ctx.config);
                queue.items.insert(wl_key, Arc::new(info));
            }
        }
        let pending = self.cluster_queues.get_mut(cluster_queue);
        let added = pending.is_some_and(|pending| add_from_local_queue(pending, &queue, ctx));
        self.local_queues.insert(key.clone(), queue);
        self.broadcast_if(added);
        Ok(())
    }

    /// Updates a LocalQueue: its ClusterQueue or weight may change.
    ///
    /// # Errors
    /// When it does not exist.
    pub(crate) fn update_local_queue(
        &mut self,
        key: &LocalQueueKey,
        cluster_queue: &str,
        weight: f64,
        ctx: OrderContext<'_>,
    ) -> Result<(), QueueError> {
        let queue = self
            .local_queues
            .get_mut(key)
            .ok_or(QueueError::LocalQueueDoesNotExistOrInactive)?;
        queue.weight = weight;
        let mut moved = false;
        if &*queue.cluster_queue != cluster_queue {
            if let Some(old) = self.cluster_queues.get_mut(&queue.cluster_queue) {
                queue.items.keys().for_each(|wl| old.delete(wl, ctx));
                old.remove_weight(key);
            }
            queue.cluster_queue = cluster_queue.into();
            if let Some(new) = self.cluster_queues.get_mut(cluster_queue) {
                new.set_weight(key, weight, ctx);
                add_from_local_queue(new, queue, ctx);
                moved = true;
            }
        }
        if let Some(pending) = self.cluster_queues.get_mut(cluster_queue) {
            pending.set_weight(key, weight, ctx);
        }
        self.broadcast_if(moved);
        Ok(())
    }

    /// Deletes a LocalQueue with its pending workloads.
    pub(crate) fn delete_local_queue(&mut self, key: &LocalQueueKey, ctx: OrderContext<'_>) {
        let Some(queue) = self.local_queues.remove(key) else {
            return;
        };
        if let Some(pending) = self.cluster_queues.get_mut(&queue.cluster_queue) {
            queue.items.keys().for_each(|wl| pending.delete(wl, ctx));
            pending.remove_weight(key);
        }
    }

    /// A LocalQueue.
    pub fn local_queue(&self, key: &LocalQueueKey) -> Option<&PendingLocalQueue> {
        self.local_queues.get(key)
    }

    /// The ClusterQueue of a LocalQueue, and whether it exists; none when the LocalQueue does not.
    pub fn cluster_queue_of(&self, key: &LocalQueueKey) -> Option<(&Arc<str>, bool)> {
        let queue = self.local_queues.get(key)?;
        Some((
            &queue.cluster_queue,
            self.cluster_queues.contains_key(&queue.cluster_queue),
        ))
    }
}

pub(super) fn add_from_local_queue(
    pending: &mut PendingClusterQueue,
    queue: &PendingLocalQueue,
    ctx: OrderContext<'_>,
) -> bool {
    let mut added = false;
    for info in queue.keys().filter_map(|key| queue.items.get(key)) {
        if ctx.config.gates.concurrent_admission && concurrent_admission::is_parent(&info.obj) {
            continue;
        }
        // An inadmissible workload stays so; its backoff decides when it is requeued.
        added |= pending.push_active_if_not_present(info.clone(), ctx);
    }
    added
}
