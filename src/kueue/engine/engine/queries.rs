//! Queries for status and metrics: usage, conditions and shares of ClusterQueues, LocalQueues and
//! Cohorts.

use std::sync::Arc;

use super::Engine;
use crate::cache::{ActiveCondition, CacheError, ClusterQueueUsageStats, LocalQueueUsageStats};
use crate::resources::Requests;
use crate::workload::{Info, LocalQueueKey, adjust_resources, predicates};
use kueue_lab_api::v1beta2::Workload;

impl Engine {
    /// The Active condition of a ClusterQueue.
    pub fn active_condition(&self, queue: &str) -> ActiveCondition {
        self.cache.active_condition(queue, &self.config)
    }

    /// Whether the cache has a ClusterQueue.
    pub fn has_cluster_queue(&self, queue: &str) -> bool {
        self.cache.cluster_queue(queue).is_some()
    }

    /// The usage of a ClusterQueue.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn cluster_queue_usage(
        &mut self,
        queue: &str,
    ) -> Result<ClusterQueueUsageStats, CacheError> {
        self.cache.cluster_queue_usage(queue, &self.config)
    }

    /// The usage of a LocalQueue.
    ///
    /// # Errors
    /// When it is not in the cache of its ClusterQueue.
    pub fn local_queue_usage(
        &self,
        queue: &str,
        key: &LocalQueueKey,
    ) -> Result<LocalQueueUsageStats, CacheError> {
        self.cache.local_queue_usage(queue, key, &self.config)
    }

    /// The weighted share of a Cohort.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn cohort_weighted_share(&mut self, cohort: &str) -> Result<i64, CacheError> {
        self.cache.cohort_weighted_share(cohort)
    }

    /// Whether no workload reserves quota of a ClusterQueue, so that its finalizer may be removed.
    pub fn is_cluster_queue_empty(&self, queue: &str) -> bool {
        let workloads = self
            .cache
            .cluster_queue(queue)
            .map(|q| q.reserving_workloads());
        workloads.is_none_or(<[_]>::is_empty)
    }

    /// The requests of all pods of a workload that count towards quota.
    pub fn total_requests(&self, wl: &Arc<Workload>) -> Requests {
        let adjusted = adjust_resources(wl, &self.cluster_objects);
        // The verdict has the reason why devices cannot be resolved.
        let devices = self.dra_requests(wl).unwrap_or_default();
        let info = Info::with_dra(adjusted, &self.config, devices.as_ref());
        let mut total = Requests::new();
        for pod_set in info.total_requests.iter() {
            total.add(&pod_set.requests);
        }
        total
    }

    /// The ClusterQueue of a workload's LocalQueue, and whether it exists; none when the LocalQueue
    /// is stopped or does not exist.
    pub fn cluster_queue_of(&self, wl: &Workload) -> Option<(&Arc<str>, bool)> {
        self.queues
            .cluster_queue_of(&predicates::local_queue_key(wl))
    }

    /// Whether a workload is a parent of variants: its ClusterQueue has a concurrent admission
    /// policy, and it is not a variant.
    pub fn is_concurrent_admission_parent(&self, wl: &Workload) -> bool {
        self.queues
            .is_concurrent_admission_parent(wl, self.order_context())
    }
}
