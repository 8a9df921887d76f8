//! The Workload controller: event handlers and reconcile.

use std::sync::Arc;

use super::dra::{self, DraOutcome};
use super::unadmitted_conditions::sync_unadmitted_conditions;
use super::workload_queues::WorkloadQueues;
use super::{
    admission_checks, admission_gated_by, concurrent_admission, deactivation,
    maximum_execution_time, orphaned_workload, pods_ready_timeout, preemption_gates,
    queue_active_state, requeue_backoff, retention,
};
use crate::ControllerContext;
use crate::enqueue_request::enqueue_request_for_object;
use crate::event_recorder::EventSpec;
use crate::informers::{BY_CLUSTER_QUEUE, BY_LOCAL_QUEUE};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{ClusterQueue, LocalQueue, Workload};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::workload::predicates;

const WORKERS: usize = 10;

pub(crate) fn start(shared: &ControllerContext) {
    let queue = WorkQueue::new(&shared.ctx);
    enqueue_request_for_object(&shared.informers.workloads, &queue);
    add_queue_event_handlers(shared, &queue);
    dra::add_event_handlers(shared, &queue);
    let kind = ("Workload.kueue.x-k8s.io", WORKERS);
    shared.start_workers(&queue, "workload", kind, |shared, key| async move {
        reconcile(&shared, &key).await
    });
}

/// Enqueues the Workloads of queues that are added, deleted, stopped or restarted.
fn add_queue_event_handlers(shared: &ControllerContext, queue: &WorkQueue<ObjectKey>) {
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .local_queues
        .add_event_handler(move |change| {
            let lq = match change {
                Change::Updated { old, new }
                    if new.metadata.deletion_timestamp.is_none()
                        && old.spec.stop_policy == new.spec.stop_policy =>
                {
                    return;
                }
                Change::Added(lq) | Change::Updated { new: lq, .. } | Change::Deleted(lq) => lq,
            };
            enqueue_workloads_of_local_queue(&s, lq, &queue_handle);
        });
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .cluster_queues
        .add_event_handler(move |change| {
            let cq = match change {
                Change::Updated { old, new } if !is_relevant_cluster_queue_update(old, new) => {
                    return;
                }
                Change::Added(cq) | Change::Updated { new: cq, .. } | Change::Deleted(cq) => cq,
            };
            let name = ObjectKey::of(cq.as_ref()).name;
            for lq in s.informers.local_queues.by_index(BY_CLUSTER_QUEUE, &name) {
                enqueue_workloads_of_local_queue(&s, &lq, &queue_handle);
            }
        });
}

fn is_relevant_cluster_queue_update(old: &ClusterQueue, new: &ClusterQueue) -> bool {
    new.metadata.deletion_timestamp.is_some()
        || old.spec.admission_checks_strategy != new.spec.admission_checks_strategy
        || old.spec.stop_policy != new.spec.stop_policy
}

fn enqueue_workloads_of_local_queue(
    shared: &ControllerContext,
    lq: &LocalQueue,
    queue: &WorkQueue<ObjectKey>,
) {
    let key = ObjectKey::of(lq);
    let index = format!("{}/{}", key.namespace, key.name);
    let workloads = shared.informers.workloads.by_index(BY_LOCAL_QUEUE, &index);
    let delay = shared.settings.upstream_latency.drained_workloads;
    // Upstream reconciles them in random order, and the first write triggers scheduling. So drained
    // Workloads come after pending ones, unless they are the majority.
    let drained = workloads
        .iter()
        .filter(|wl| queue_active_state::is_disabled_requeued_by_stopped_queue(wl))
        .count();
    for wl in &workloads {
        let key = ObjectKey::of(wl.as_ref());
        match queue_active_state::is_disabled_requeued_by_stopped_queue(wl)
            && drained <= workloads.len() / 2
        {
            true => queue.add_after(key, delay),
            false => queue.add(key),
        }
    }
}

async fn reconcile(shared: &ControllerContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    let Some(wl) = shared.informers.workloads.get(key) else {
        return Ok(ReconcileResult::Done);
    };
    match ignore_not_found(reconcile_workload(shared, wl).await)? {
        Some(outcome) => Ok(outcome),
        None => Ok(ReconcileResult::Done),
    }
}

/// Makes the first change that is due.
async fn reconcile_workload(
    shared: &ControllerContext,
    wl: Arc<Workload>,
) -> kube::Result<ReconcileResult> {
    let Some(wl) = orphaned_workload::finish_orphaned(shared, wl).await? else {
        return Ok(ReconcileResult::Done);
    };
    let wl = preemption_gates::sync_preemption_gates(shared, wl).await?;
    if concurrent_admission::label_concurrent_admission_parent(shared, &wl).await? {
        return Ok(ReconcileResult::Done);
    }
    if let Some(outcome) = retention::delete_after_retention(shared, &wl).await? {
        return Ok(outcome);
    }
    if admission_checks::set_requeue_time(shared, &wl).await? {
        return Ok(ReconcileResult::Done);
    }
    let wl = match dra::count(shared, wl).await? {
        DraOutcome::Continue(wl) => wl,
        DraOutcome::Stop(outcome) => return Ok(outcome),
    };
    let outcome = if !wl.spec.is_active() {
        deactivation::reconcile_deactivated(shared, &wl).await?
    } else if let Some(outcome) = deactivation::reconcile_deactivation_target(shared, &wl).await? {
        Some(outcome)
    } else {
        requeue_backoff::reconcile_requeue_backoff(shared, &wl).await?
    };
    if let Some(outcome) = outcome {
        return Ok(outcome);
    }
    let queues = WorkloadQueues::of(shared, &wl);
    if queue_active_state::sync_requeued_on_queue_restart(shared, &wl, &queues).await?
        || admission_gated_by::sync_admission_gated_by(shared, &wl).await?
        || admission_checks::sync_admission_checks(shared, &wl, &queues).await?
    {
        return Ok(ReconcileResult::Done);
    }
    let wl = sync_unadmitted_conditions(shared, wl).await?;
    if !predicates::has_quota_reservation(&wl) {
        return Ok(ReconcileResult::Done);
    }
    if admission_checks::reconcile_check_based_eviction(shared, &wl).await?
        || queue_active_state::reconcile_on_queue_active_state(shared, &wl, &queues).await?
    {
        return Ok(ReconcileResult::Done);
    }
    let pods = pods_ready_timeout::reconcile_not_ready_timeout(shared, &wl).await?;
    let time = maximum_execution_time::reconcile_max_execution_time(shared, &wl).await?;
    let next = [pods, time].into_iter().flatten().min();
    Ok(next.map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter))
}

pub(super) fn record_event(
    shared: &ControllerContext,
    wl: &Workload,
    type_: EventType,
    reason: &str,
    message: impl Into<String>,
) {
    let event = EventSpec::new(c::WORKLOAD_CONTROLLER, type_, reason, message);
    shared.recorder.record(wl, event);
}
