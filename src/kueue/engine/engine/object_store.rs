//! [`ObjectStore`]: the latest version of every object, with indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::afs::local_queue_weight;
use crate::hash_map::FastHashMap;
use crate::workload::{LocalQueueKey, WorkloadKey, predicates};
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort, LocalQueue, Topology, Workload};

/// The latest version of every object.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectStore {
    workloads: FastHashMap<WorkloadKey, Arc<Workload>>,
    by_queue: BTreeMap<LocalQueueKey, BTreeSet<WorkloadKey>>,
    by_admission: BTreeMap<String, BTreeSet<WorkloadKey>>,
    pub cluster_queues: BTreeMap<String, Arc<ClusterQueue>>,
    pub local_queues: BTreeMap<LocalQueueKey, Arc<LocalQueue>>,
    pub cohorts: BTreeMap<String, Arc<Cohort>>,
    pub topologies: BTreeMap<String, Arc<Topology>>,
    /// The fair sharing weights of LocalQueues.
    pub weights: BTreeMap<LocalQueueKey, f64>,
}

fn admitting_queue(wl: &Workload) -> Option<&str> {
    wl.status
        .admission
        .as_ref()
        .map(|a| a.cluster_queue.as_str())
}

impl ObjectStore {
    /// Stores a Workload; returns the previous version.
    pub(crate) fn insert_workload(
        &mut self,
        key: &WorkloadKey,
        wl: Arc<Workload>,
    ) -> Option<Arc<Workload>> {
        let old = self.workloads.insert(key.clone(), wl.clone());
        let queue = predicates::local_queue_key(&wl);
        if let Some(old) = &old {
            let was = predicates::local_queue_key(old);
            if was != queue {
                drop_from(&mut self.by_queue, &was, key);
            }
            if admitting_queue(old) != admitting_queue(&wl)
                && let Some(queue) = admitting_queue(old)
            {
                drop_from(&mut self.by_admission, queue, key);
            }
        }
        self.by_queue.entry(queue).or_default().insert(key.clone());
        if let Some(queue) = admitting_queue(&wl) {
            let workloads = self.by_admission.entry(queue.to_owned()).or_default();
            workloads.insert(key.clone());
        }
        old
    }

    /// Removes a Workload; returns its last version.
    pub(crate) fn remove_workload(&mut self, key: &WorkloadKey) -> Option<Arc<Workload>> {
        let old = self.workloads.remove(key)?;
        drop_from(&mut self.by_queue, &predicates::local_queue_key(&old), key);
        if let Some(queue) = admitting_queue(&old) {
            drop_from(&mut self.by_admission, queue, key);
        }
        Some(old)
    }

    /// A Workload.
    pub(crate) fn workload(&self, key: &WorkloadKey) -> Option<&Arc<Workload>> {
        self.workloads.get(key)
    }

    /// All Workloads, by name.
    pub(crate) fn workloads(&self) -> impl Iterator<Item = &Arc<Workload>> {
        let mut all: Vec<_> = self.workloads.iter().collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all.into_iter().map(|(_, wl)| wl)
    }

    /// The Workloads submitted to a LocalQueue, by name.
    pub(crate) fn workloads_of<'a>(
        &'a self,
        queue: &LocalQueueKey,
    ) -> impl Iterator<Item = &'a Arc<Workload>> {
        let keys = self.by_queue.get(queue).into_iter().flatten();
        keys.filter_map(|key| self.workloads.get(key))
    }

    /// The Workloads whose admission names a ClusterQueue, by name.
    pub(crate) fn workloads_in(&self, queue: &str) -> impl Iterator<Item = &Arc<Workload>> {
        let keys = self.by_admission.get(queue).into_iter().flatten();
        keys.filter_map(|key| self.workloads.get(key))
    }

    /// Stores a LocalQueue; returns the previous version.
    pub(crate) fn insert_local_queue(
        &mut self,
        key: &LocalQueueKey,
        queue: Arc<LocalQueue>,
    ) -> Option<Arc<LocalQueue>> {
        self.weights.insert(key.clone(), local_queue_weight(&queue));
        self.local_queues.insert(key.clone(), queue)
    }

    /// Removes a LocalQueue; returns its last version.
    pub(crate) fn remove_local_queue(&mut self, key: &LocalQueueKey) -> Option<Arc<LocalQueue>> {
        self.weights.remove(key);
        self.local_queues.remove(key)
    }
}

fn drop_from<K: Ord + std::borrow::Borrow<Q>, Q: Ord + ?Sized>(
    index: &mut BTreeMap<K, BTreeSet<WorkloadKey>>,
    at: &Q,
    key: &WorkloadKey,
) {
    if let Some(keys) = index.get_mut(at) {
        keys.remove(key);
        if keys.is_empty() {
            index.remove(at);
        }
    }
}
