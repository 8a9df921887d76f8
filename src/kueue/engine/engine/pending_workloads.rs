//! Pending workloads with their positions, as the visibility API serves them.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Engine, order_context};
use crate::workload::{LocalQueueKey, WorkloadKey};
use kueue_lab_api::v1beta2::Workload;

/// The number of pending workloads of a ClusterQueue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PendingCounts {
    /// Active workloads.
    pub active: usize,
    /// Inadmissible workloads.
    pub inadmissible: usize,
}

/// A pending workload with its position in the queues.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingPosition {
    /// The workload.
    pub workload: Arc<Workload>,
    /// Its position in the ClusterQueue, from 0.
    pub in_cluster_queue: usize,
    /// Its position in the LocalQueue, from 0.
    pub in_local_queue: usize,
}

/// The state of a pending workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PendingState {
    /// In the heap of its ClusterQueue.
    Active,
    /// Inadmissible until an event requeues it.
    Inadmissible,
    /// A head of the current cycle.
    Inflight,
}

impl Engine {
    /// The number of pending workloads of a ClusterQueue.
    pub fn pending_counts(&self, queue: &str) -> Option<PendingCounts> {
        let (active, inadmissible) = self.queues.cluster_queue(queue)?.counts();
        Some(PendingCounts {
            active,
            inadmissible,
        })
    }

    /// The number of pending workloads of a LocalQueue; none when it is stopped or does not exist.
    pub fn local_queue_pending(&self, key: &LocalQueueKey) -> Option<usize> {
        Some(self.queues.local_queue(key)?.pending())
    }

    /// The ClusterQueue of a LocalQueue; none when it is stopped or does not exist.
    pub fn cluster_queue_from_local_queue(&self, key: &LocalQueueKey) -> Option<Arc<str>> {
        Some(self.queues.local_queue(key)?.cluster_queue.clone())
    }

    /// The pending workloads of a ClusterQueue in queue order, at most `limit` from `offset`. None
    /// when the ClusterQueue does not exist.
    pub fn pending_positions(
        &self,
        queue: &str,
        offset: usize,
        limit: usize,
    ) -> Option<Vec<PendingPosition>> {
        let pending = self.queues.cluster_queue(queue)?;
        let mut in_local_queue: HashMap<LocalQueueKey, usize> = HashMap::new();
        let all = pending.in_order(order_context!(self)).into_iter();
        let positions = all.enumerate().take(offset.saturating_add(limit));
        let positions = positions.map(|(in_cluster_queue, info)| {
            let next = in_local_queue.entry(info.local_queue.clone()).or_default();
            let in_local_queue = *next;
            *next += 1;
            PendingPosition {
                workload: info.obj.clone(),
                in_cluster_queue,
                in_local_queue,
            }
        });
        Some(positions.skip(offset).collect())
    }

    /// The state of a pending workload; none when it is in no queue.
    pub fn pending_state(&self, key: &WorkloadKey) -> Option<PendingState> {
        let wl = self.store.workload(key)?;
        let (queue, _) = self.cluster_queue_of(wl)?;
        let pending = self.queues.cluster_queue(queue)?;
        if pending.active(key).is_some() {
            Some(PendingState::Active)
        } else if pending.inadmissible(key).is_some() {
            Some(PendingState::Inadmissible)
        } else {
            pending.is_inflight(key).then_some(PendingState::Inflight)
        }
    }
}
