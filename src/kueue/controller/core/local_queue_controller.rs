//! The LocalQueue controller: counts, usage, the Active condition and fair sharing status.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::active_condition::active_condition;
use crate::ControllerContext;
use crate::constants::UPDATES_BATCH_PERIOD;
use crate::enqueue_request::enqueue_request_for_object;
use crate::informers::BY_CLUSTER_QUEUE;
use crate::update;
use kueue_lab_api::conditions::is_condition_true;
use kueue_lab_api::constants::{self as c, active};
use kueue_lab_api::v1beta2::{ClusterQueue, LocalQueue, StopPolicy};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::cache::LocalQueueUsageStats;
use kueue_lab_engine::status::set_condition;
use kueue_lab_engine::workload::LocalQueueKey;

const WORKERS: usize = 5;

pub(super) fn start(shared: &ControllerContext) {
    let queue = WorkQueue::new(&shared.ctx);
    enqueue_request_for_object(&shared.informers.local_queues, &queue);
    let queue_handle = queue.clone();
    shared.informers.workloads.add_event_handler(move |change| {
        let (first, second) = match change {
            Change::Added(wl) | Change::Deleted(wl) => (wl, None),
            Change::Updated { old, new } => (old, Some(new)),
        };
        let second = second.filter(|new| new.spec.queue_name != first.spec.queue_name);
        for wl in [Some(first), second].into_iter().flatten() {
            let namespace = wl.metadata.namespace.clone().unwrap_or_default();
            queue_handle.add_after(
                ObjectKey::new(namespace, &wl.spec.queue_name),
                UPDATES_BATCH_PERIOD,
            );
        }
    });
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .cluster_queues
        .add_event_handler(move |change| {
            let cq: &Arc<ClusterQueue> = match change {
                Change::Updated { old, new } if old.status.conditions == new.status.conditions => {
                    return;
                }
                Change::Added(cq) | Change::Updated { new: cq, .. } | Change::Deleted(cq) => cq,
            };
            let name = ObjectKey::of(cq.as_ref()).name;
            for lq in s.informers.local_queues.by_index(BY_CLUSTER_QUEUE, &name) {
                queue_handle.add(ObjectKey::of(lq.as_ref()));
            }
        });
    let kind = ("LocalQueue.kueue.x-k8s.io", WORKERS);
    shared.start_workers(&queue, "local-queue", kind, |shared, key| async move {
        reconcile(&shared, &key).await
    });
}

/// The status, reason and message of Active.
fn active_status(
    shared: &ControllerContext,
    lq: &LocalQueue,
) -> (bool, &'static str, &'static str) {
    if lq.spec.stop_policy() != StopPolicy::None {
        return (false, active::STOPPED, "LocalQueue is stopped");
    }
    let cannot = "Can't submit new workloads to clusterQueue";
    let cluster_queue = ObjectKey::cluster(&lq.spec.cluster_queue);
    let Some(cq) = shared.informers.cluster_queues.get(&cluster_queue) else {
        return (false, active::CLUSTER_QUEUE_DOES_NOT_EXIST, cannot);
    };
    if is_condition_true(&cq.status.conditions, c::ACTIVE) {
        return (
            true,
            active::READY,
            "Can submit new workloads to localQueue",
        );
    }
    (false, active::CLUSTER_QUEUE_IS_INACTIVE, cannot)
}

async fn reconcile(shared: &ControllerContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    let Some(lq) = shared.informers.local_queues.get(key) else {
        return Ok(ReconcileResult::Done);
    };
    let engine_key = LocalQueueKey::new(&key.namespace, &key.name);
    let (is_active, reason, message) = active_status(shared, &lq);
    let cluster_queue = &lq.spec.cluster_queue;
    let exists = shared
        .informers
        .cluster_queues
        .get(&ObjectKey::cluster(cluster_queue))
        .is_some();
    let mut after = LocalQueue::clone(&lq);
    let condition = active_condition(&lq.metadata, shared.now(), is_active, reason, message);
    {
        let engine = shared.engine();
        let pending = if lq.spec.stop_policy() == StopPolicy::None {
            match engine.local_queue_pending(&engine_key) {
                Some(pending) => pending,
                None => return Ok(ReconcileResult::Requeue),
            }
        } else {
            0
        };
        let report = if exists {
            match engine.local_queue_usage(cluster_queue, &engine_key) {
                Ok(report) => report,
                Err(_) => return Ok(ReconcileResult::Requeue),
            }
        } else {
            LocalQueueUsageStats::default()
        };
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let status = &mut after.status;
        status.pending_workloads = count(pending);
        status.reserving_workloads = count(report.reserving_workloads);
        status.admitted_workloads = count(report.admitted_workloads);
        status.flavors_reservation = report.reserved;
        status.flavors_usage = report.admitted;
    }
    set_condition(&mut after.status.conditions, condition);
    let api = Api::<LocalQueue>::namespaced(shared.ctx.client.clone(), &key.namespace);
    if after.status != lq.status {
        let Some(written) = ignore_not_found(update::update_status(&api, &after).await)? else {
            return Ok(ReconcileResult::Done);
        };
        shared.informers.local_queues.observe_write(written.clone());
        after = LocalQueue::clone(&written);
    }
    if !is_active {
        return Ok(ReconcileResult::Done);
    }
    sample_consumed_usage(shared, &engine_key, &api, after).await
}

/// Samples consumed usage, with admission fair sharing.
async fn sample_consumed_usage(
    shared: &ControllerContext,
    key: &LocalQueueKey,
    api: &Api<LocalQueue>,
    mut lq: LocalQueue,
) -> kube::Result<ReconcileResult> {
    let now = shared.now();
    let known = lq
        .status
        .fair_sharing
        .as_ref()
        .and_then(|f| f.admission_fair_sharing_status.as_ref())
        .map(|s| s.consumed_resources.clone());
    let usage = shared.update_engine(|engine| engine.sample_local_queue(key, known.as_ref(), now));
    let Some(usage) = usage else {
        return Ok(ReconcileResult::Done);
    };
    if let Some(sampled) = usage.sampled {
        let status = lq.status.fair_sharing.get_or_insert_default();
        let past = status.admission_fair_sharing_status.get_or_insert_default();
        past.consumed_resources = sampled;
        past.last_update = Some(Time(now));
        if let Some(written) = ignore_not_found(update::update_status(api, &lq).await)? {
            shared.informers.local_queues.observe_write(written);
        }
    }
    let wait = usage.next.duration_since(now);
    Ok(ReconcileResult::RequeueAfter(wait.unsigned_abs()))
}
