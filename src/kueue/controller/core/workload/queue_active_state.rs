//! Stop policies of the LocalQueue and the ClusterQueue of a Workload.

use std::sync::Arc;

use super::evict::evict;
use super::unadmitted_conditions::{
    granular_or_legacy_reason, patch_quota_reservation_unset, set_requeued_condition,
};
use super::workload_queues::WorkloadQueues;
use crate::ControllerContext;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::v1beta2::{StopPolicy, Workload};
use kueue_lab_engine::status::Eviction;
use kueue_lab_engine::workload::predicates;

fn is_disabled_requeued_by_reason(wl: &Workload, reason: &str) -> bool {
    predicates::false_condition(wl, c::REQUEUED).is_some_and(|cond| cond.reason == reason)
}

/// Whether Requeued is False because a queue was stopped.
pub(super) fn is_disabled_requeued_by_stopped_queue(wl: &Workload) -> bool {
    is_disabled_requeued_by_reason(wl, c::evicted::LOCAL_QUEUE_STOPPED)
        || is_disabled_requeued_by_reason(wl, c::evicted::CLUSTER_QUEUE_STOPPED)
}

/// Sets Requeued to True after the queue was restarted. True if it was written.
pub(super) async fn sync_requeued_on_queue_restart(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
    queues: &WorkloadQueues,
) -> kube::Result<bool> {
    let runs = queues.local_queue.is_some() && queues.is_local_queue_active();
    let cluster = queues.cluster_queue.as_ref();
    let (reason, message) =
        if runs && is_disabled_requeued_by_reason(wl, c::evicted::LOCAL_QUEUE_STOPPED) {
            let message = "The LocalQueue was restarted after being stopped";
            (c::requeued::LOCAL_QUEUE_RESTARTED, message)
        } else if cluster.is_some_and(|cq| cq.spec.stop_policy() == StopPolicy::None)
            && is_disabled_requeued_by_reason(wl, c::evicted::CLUSTER_QUEUE_STOPPED)
        {
            let message = "The ClusterQueue was restarted after being stopped";
            (c::requeued::CLUSTER_QUEUE_RESTARTED, message)
        } else {
            return Ok(false);
        };
    let now = shared.now();
    workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
        set_requeued_condition(wl, reason, message, true, now)
    })
    .await?;
    Ok(true)
}

/// Evicts an admitted Workload of a drained queue, and releases the quota of one that is not
/// admitted when a queue is stopped or missing. True if it was written.
pub(super) async fn reconcile_on_queue_active_state(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
    queues: &WorkloadQueues,
) -> kube::Result<bool> {
    let local = queues.local_queue.as_ref();
    let policy = local.map_or(StopPolicy::None, |lq| lq.spec.stop_policy());
    let exists = local.is_some_and(|lq| lq.metadata.deletion_timestamp.is_none());
    let of_local = QueueActiveState {
        policy,
        exists,
        queue: format!("LocalQueue {}", wl.spec.queue_name),
        reason: c::evicted::LOCAL_QUEUE_STOPPED,
        message: "The LocalQueue is stopped",
    };
    if of_local.reconcile(shared, wl).await? {
        return Ok(true);
    }
    let cluster = queues.cluster_queue.as_ref();
    let policy = cluster.map_or(StopPolicy::None, |cq| cq.spec.stop_policy());
    let exists = cluster.is_some_and(|cq| cq.metadata.deletion_timestamp.is_none());
    let of_cluster = QueueActiveState {
        policy,
        exists,
        queue: format!(
            "ClusterQueue {}",
            queues.cluster_queue_name.as_deref().unwrap_or_default()
        ),
        reason: c::evicted::CLUSTER_QUEUE_STOPPED,
        message: "The ClusterQueue is stopped",
    };
    of_cluster.reconcile(shared, wl).await
}

/// A queue of a Workload with the reason and messages for its stop policy.
struct QueueActiveState {
    policy: StopPolicy,
    exists: bool,
    queue: String,
    reason: &'static str,
    message: &'static str,
}

impl QueueActiveState {
    async fn reconcile(
        &self,
        shared: &ControllerContext,
        wl: &Arc<Workload>,
    ) -> kube::Result<bool> {
        if predicates::is_admitted(wl) {
            if self.policy != StopPolicy::HoldAndDrain || predicates::is_evicted(wl) {
                return Ok(false);
            }
            let eviction = Eviction::new(self.reason, self.message);
            evict(shared, wl, &eviction, |_| {}).await?;
            return Ok(true);
        }
        if !self.exists {
            let reason = granular_or_legacy_reason(shared, q::MISCONFIGURED, q::INADMISSIBLE);
            let message = format!("{} is terminating or missing", self.queue);
            patch_quota_reservation_unset(shared, wl, reason, &message).await?;
            return Ok(true);
        }
        if self.policy != StopPolicy::None {
            let reason = granular_or_legacy_reason(shared, q::SUSPENDED, q::INADMISSIBLE);
            let message = format!("{} is stopped", self.queue);
            patch_quota_reservation_unset(shared, wl, reason, &message).await?;
            return Ok(true);
        }
        Ok(false)
    }
}
