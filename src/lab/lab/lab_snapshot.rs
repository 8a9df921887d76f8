//! [`LabSnapshot`]: the state of a lab that has started, from which further labs start.

use std::sync::Arc;

use jiff::Timestamp;
use kueue_lab_clock::Entropy;
use kueue_lab_cluster::{ApiServerSnapshot, Cluster};
use kueue_lab_presets::PresetsSnapshot;

use crate::kueue_manager::is_manager_pod_key;
use crate::lab::Lab;

/// The Pods of a cluster, by `group/plural`.
const PODS: &str = "/pods";
/// The Workloads of a cluster, by `group/plural`.
const WORKLOADS: &str = "kueue.x-k8s.io/workloads";

/// The state of an idle lab without work: its objects, what its presets have applied, lab time and randomness.
/// Labs that start from it have the same state, and each changes only its own.
///
/// The controllers of such a lab start on a cluster with objects, as after a restart.
pub struct LabSnapshot {
    pub(crate) cluster: Arc<ApiServerSnapshot>,
    pub(crate) presets: PresetsSnapshot,
    pub(crate) time: Timestamp,
    entropy: Entropy,
}

impl LabSnapshot {
    /// The state of randomness after the snapshot; the same for each lab.
    pub(crate) fn entropy(&self) -> Entropy {
        self.entropy.fork()
    }
}

impl Lab {
    /// The current state, for labs of the same configuration. The lab must be idle.
    ///
    /// `None` if a lab cannot continue from the objects alone: on an existing cluster, with a data directory,
    /// external clients, worker clusters, workloads or pods other than the controller's, and if the active
    /// preset is not applied.
    pub async fn snapshot(&self) -> Option<LabSnapshot> {
        let Cluster::Embedded(embedded) = self.cluster() else {
            return None;
        };
        let has_work = !self.worker_clients().is_empty() || !self.jobs().jobs().is_empty();
        if has_work || !self.starts_from_snapshots() {
            return None;
        }
        let presets = self.presets().snapshot().await?;
        let cluster = embedded.snapshot()?;
        if cluster.keys(WORKLOADS).next().is_some() || !cluster.keys(PODS).all(is_manager_pod_key) {
            return None;
        }
        Some(LabSnapshot {
            cluster: Arc::new(cluster),
            presets,
            time: self.clock().now(),
            entropy: self.context().entropy.fork(),
        })
    }
}
