//! Queries for status and metrics: usage, conditions and shares of ClusterQueues, LocalQueues and
//! Cohorts.

use std::sync::Arc;

use super::Engine;
use crate::cache::{ActiveCondition, CacheError, ClusterQueueUsageStats, LocalQueueUsageStats};
use crate::workload::{LocalQueueKey, predicates};
use kueue_lab_api::v1beta2::Workload;

impl Engine {
    /// The Active condition of a ClusterQueue.
    pub fn active_condition(&self, queue: &str) -> ActiveCondition {
        self.cache.active_condition(queue, &self.config)
    }

    /// What the workloads of a ClusterQueue hold.
    ///
    /// # Errors
    /// When it is not there.
    pub fn cluster_queue_usage(
        &mut self,
        queue: &str,
    ) -> Result<ClusterQueueUsageStats, CacheError> {
        self.cache.cluster_queue_usage(queue, &self.config)
    }

    /// What the workloads of a LocalQueue hold.
    ///
    /// # Errors
    /// When its ClusterQueue does not count for it.
    pub fn local_queue_usage(
        &self,
        queue: &str,
        key: &LocalQueueKey,
    ) -> Result<LocalQueueUsageStats, CacheError> {
        self.cache.local_queue_usage(queue, key, &self.config)
    }

    /// The weighted share of a cohort.
    ///
    /// # Errors
    /// When it is not there.
    pub fn cohort_weighted_share(&mut self, cohort: &str) -> Result<i64, CacheError> {
        self.cache.cohort_weighted_share(cohort)
    }

    /// Whether a ClusterQueue holds no quota for anybody, so that it may be deleted.
    pub fn is_cluster_queue_empty(&self, queue: &str) -> bool {
        let members = self
            .cache
            .cluster_queue(queue)
            .map(|q| q.reserving_workloads());
        members.is_none_or(<[_]>::is_empty)
    }

    /// The ClusterQueue a workload is submitted to, by its LocalQueue; none when that is stopped
    /// or not there.
    pub fn cluster_queue_of(&self, wl: &Workload) -> Option<(&Arc<str>, bool)> {
        self.queues
            .cluster_queue_of(&predicates::local_queue_key(wl))
    }

    /// Whether a workload is to stand for variants of itself: its ClusterQueue says so, and it is none
    /// itself.
    pub fn is_concurrent_admission_parent(&self, wl: &Workload) -> bool {
        self.queues
            .is_concurrent_admission_parent(wl, self.order_context())
    }
}
