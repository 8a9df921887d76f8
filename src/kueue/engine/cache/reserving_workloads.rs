//! Adds the workloads that reserve quota to the cache, and removes them.

use std::sync::Arc;

use super::cached_workloads::{CachedWorkload, WorkloadIndex};
use super::cluster_queue::ReservingWorkload;
use super::local_queue::{add_or_subtract_one, update_flavor_usage};
use super::{Cache, CacheError, HierarchyNodeId};
use crate::concurrent_admission::is_variant;
use crate::config::EngineConfig;
use crate::workload::{Info, WorkloadKey, predicates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

impl Cache {
    /// Adds or updates a workload that reserves quota; removes one that no longer does. Returns
    /// true when the workload is in the cache afterwards.
    ///
    /// # Errors
    /// When the ClusterQueue it is admitted to does not exist.
    pub fn upsert_workload(
        &mut self,
        wl: &Arc<Workload>,
        config: &EngineConfig,
    ) -> Result<bool, CacheError> {
        self.upsert(
            wl,
            || Info::without_scheduling_hash(wl.clone(), config),
            config,
        )
    }

    /// Adds a workload that was just assigned quota; `before` provides what the admission does not
    /// change. Returns true when the workload is in the cache afterwards.
    ///
    /// # Errors
    /// When the ClusterQueue it is admitted to does not exist.
    pub(crate) fn assume_workload(
        &mut self,
        wl: &Arc<Workload>,
        before: &Info,
        config: &EngineConfig,
    ) -> Result<bool, CacheError> {
        self.upsert(wl, || before.admitted(wl.clone(), config), config)
    }

    fn upsert(
        &mut self,
        wl: &Arc<Workload>,
        info: impl FnOnce() -> Info,
        config: &EngineConfig,
    ) -> Result<bool, CacheError> {
        let admission = wl.status.admission.as_ref();
        if config.gates.concurrent_admission && !is_variant(wl) {
            let queue = admission.and_then(|a| self.cluster_queue(&a.cluster_queue));
            if queue.is_some_and(|q| q.concurrent_admission.is_some()) {
                return Ok(false);
            }
        }
        let Some(admission) = admission.filter(|_| predicates::has_active_quota_reservation(wl))
        else {
            let key = predicates::key(wl);
            if let Some(name) = self.assigned.remove(&key) {
                self.remove_reserving_workload(&name, &key);
            }
            return Ok(false);
        };
        let node = self
            .node_of(&admission.cluster_queue)
            .ok_or(CacheError::ClusterQueueNotFound)?;
        let info = info();
        let name = self.hierarchy[node].name.clone();
        if let Some(old) = self.assigned.insert(info.key.clone(), name)
            && *old != *admission.cluster_queue
        {
            self.remove_reserving_workload(&old, &info.key);
        }
        self.add_reserving_workload(node, info, config);
        Ok(true)
    }

    /// Deletes a workload, if it is in the cache.
    ///
    /// # Errors
    /// When its ClusterQueue does not exist.
    pub fn delete_workload(&mut self, key: &WorkloadKey) -> Result<(), CacheError> {
        let Some(name) = self.assigned.get(key).cloned() else {
            return Ok(());
        };
        if !self.queues.contains_key(&name) {
            return Err(CacheError::ClusterQueueNotFound);
        }
        self.remove_reserving_workload(&name, key);
        self.assigned.remove(key);
        Ok(())
    }

    /// Adds a workload to a ClusterQueue, replacing an earlier version of it.
    pub(crate) fn add_reserving_workload(
        &mut self,
        node: HierarchyNodeId,
        info: Info,
        config: &EngineConfig,
    ) {
        self.changes += 1;
        let name = self.hierarchy[node].name.clone();
        self.remove_reserving_workload(&name, &info.key);
        let key = info.key.clone();
        let rank = info.queue_order_key();
        let ready = info.obj.is_condition_true(c::PODS_READY);
        let mut workload = CachedWorkload::new(Arc::new(info), node, &mut self.hierarchy.frs);
        let Some(queue) = self.cluster_queue_by_node_mut(node) else {
            return;
        };
        workload.position = queue.reserving_workloads.len();
        let idx = self.workloads.insert(workload);
        let Some(queue) = self.cluster_queue_by_node_mut(node) else {
            return;
        };
        queue.reserving_workloads.push(ReservingWorkload {
            idx,
            order_key: rank,
        });
        queue.by_key.insert(key.clone(), idx);
        queue.track_pods_ready(key, ready, config);
        self.update_workload_usage(idx, true);
    }

    fn remove_reserving_workload(&mut self, queue: &str, key: &WorkloadKey) {
        let Some(node) = self.node_of(queue) else {
            return;
        };
        let Some(idx) = self
            .cluster_queue_by_node(node)
            .and_then(|q| q.reserving_workload(key))
        else {
            return;
        };
        self.changes += 1;
        self.update_workload_usage(idx, false);
        // Quota was released, so more workloads may fit.
        self.hierarchy.increase_generation(node);
        let Some(removed) = self.workloads.remove(idx) else {
            return;
        };
        let Some(queue) = self.cluster_queue_by_node_mut(node) else {
            return;
        };
        queue.by_key.remove(key);
        queue.untrack_pods_ready(key);
        queue.reserving_workloads.swap_remove(removed.position);
        if let Some(ReservingWorkload { idx, .. }) =
            queue.reserving_workloads.get(removed.position).copied()
            && let Some(workload) = self.workloads.get_mut(idx)
        {
            workload.position = removed.position;
        }
    }

    /// Adds or removes the usage of a workload in its ClusterQueue, the cohorts and its LocalQueue.
    fn update_workload_usage(&mut self, idx: WorkloadIndex, add: bool) {
        let Some(workload) = self.workloads.get(idx) else {
            return;
        };
        let (node, admitted) = (workload.queue, workload.admitted);
        let usage = workload.usage.clone();
        let local_queue = workload.info.local_queue.clone();
        if let Some(tas) = workload.tas_usage.clone() {
            let key = workload.info.key.as_str();
            for (flavor, domains) in tas.iter() {
                if add {
                    self.tas.add_usage(flavor, key, domains);
                } else {
                    self.tas.remove_usage(flavor, key);
                }
            }
        }
        for (fr, amount) in usage.iter() {
            if add {
                self.hierarchy.add_usage(node, fr, amount);
            } else {
                self.hierarchy.remove_usage(node, fr, amount);
            }
        }
        let Some(queue) = self.cluster_queue_by_node_mut(node) else {
            return;
        };
        if admitted {
            update_flavor_usage(&mut queue.admitted_usage, &usage, add);
            add_or_subtract_one(&mut queue.admitted_workloads, add);
        }
        if let Some(lq) = queue.local_queues.get_mut(&local_queue) {
            lq.update(&usage, admitted, add);
        }
    }
}
