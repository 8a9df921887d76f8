//! Readiness of the pods of admitted workloads, for `waitForPodsReady.blockAdmission`.

use super::Cache;
use super::cluster_queue::ClusterQueue;
use crate::config::EngineConfig;
use crate::workload::WorkloadKey;

impl ClusterQueue {
    /// Records the PodsReady condition of a workload that reserves quota, if admission is blocked
    /// on it.
    pub(super) fn track_pods_ready(
        &mut self,
        key: WorkloadKey,
        ready: bool,
        config: &EngineConfig,
    ) {
        if config.block_admission_until_pods_ready && !ready {
            self.not_ready.insert(key);
        }
    }

    /// Drops the record of a workload.
    pub(super) fn untrack_pods_ready(&mut self, key: &WorkloadKey) {
        self.not_ready.remove(key);
    }
}

impl Cache {
    /// Whether the pods of all workloads that reserve quota are ready. True while admission is not
    /// blocked on it.
    pub fn pods_ready_for_all_admitted_workloads(&self) -> bool {
        self.cluster_queues().all(|q| q.not_ready.is_empty())
    }
}
