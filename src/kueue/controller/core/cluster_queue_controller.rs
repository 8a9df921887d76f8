//! The ClusterQueue controller: finalizer, counts, usage and the Active condition.

use std::sync::Arc;

use super::active_condition::active_condition;
use super::resource_in_use_finalizer;
use crate::ControllerContext;
use crate::constants::UPDATES_BATCH_PERIOD;
use crate::enqueue_request::enqueue_request_for_object;
use crate::update;
use kueue_lab_api::v1beta2::{ClusterQueue, FairSharingStatus, Workload};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::status::set_condition;
use kueue_lab_engine::workload::predicates;

const WORKERS: usize = 5;

pub(super) fn start(shared: &ControllerContext) {
    let queue = WorkQueue::new(&shared.ctx);
    enqueue_request_for_object(&shared.informers.cluster_queues, &queue);
    add_dependency_handlers(shared, &queue);
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared.informers.workloads.add_event_handler(move |change| {
        let workloads = match change {
            Change::Added(wl) | Change::Deleted(wl) => vec![wl],
            Change::Updated { old, new } if old.spec.queue_name != new.spec.queue_name => {
                vec![old, new]
            }
            Change::Updated { old, .. } => vec![old],
        };
        for wl in workloads {
            if let Some(name) = cluster_queue_of_workload(&s, wl) {
                queue_handle.add_after(ObjectKey::cluster(name), UPDATES_BATCH_PERIOD);
            }
        }
    });
    let kind = ("ClusterQueue.kueue.x-k8s.io", WORKERS);
    shared.start_workers(&queue, "cluster-queue", kind, |shared, key| async move {
        reconcile(&shared, &key).await
    });
}

/// The ClusterQueue in which a Workload holds quota or is pending.
fn cluster_queue_of_workload(shared: &ControllerContext, wl: &Workload) -> Option<String> {
    if predicates::has_quota_reservation(wl) {
        return wl
            .status
            .admission
            .as_ref()
            .map(|a| a.cluster_queue.clone());
    }
    let engine = shared.engine();
    let (name, exists) = engine.cluster_queue_of(wl)?;
    exists.then(|| name.to_string())
}

/// Enqueues ClusterQueues when their flavors, checks or topologies change.
fn add_dependency_handlers(shared: &ControllerContext, queue: &WorkQueue<ObjectKey>) {
    let add = |queue: &WorkQueue<ObjectKey>, names: kueue_lab_engine::cache::QueueNames| {
        for name in names {
            queue.add_after(ObjectKey::cluster(&*name), UPDATES_BATCH_PERIOD);
        }
    };
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .resource_flavors
        .add_event_handler(move |change| {
            if let Change::Added(flavor) | Change::Deleted(flavor) = change {
                let name = ObjectKey::of(flavor.as_ref()).name;
                let names = s.engine().cache().cluster_queues_using_flavor(&name);
                add(&queue_handle, names);
            }
        });
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .topologies
        .add_event_handler(move |change| {
            if let Change::Added(topology) | Change::Deleted(topology) = change {
                let name = ObjectKey::of(topology.as_ref()).name;
                let names = s.engine().cache().cluster_queues_using_topology(&name);
                add(&queue_handle, names);
            }
        });
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .admission_checks
        .add_event_handler(move |change| {
            let check = change.object();
            let name = ObjectKey::of(check.as_ref()).name;
            let names = s
                .engine()
                .cache()
                .cluster_queues_using_admission_check(&name);
            add(&queue_handle, names);
        });
}

async fn reconcile(shared: &ControllerContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    let api = Api::<ClusterQueue>::all(shared.ctx.client.clone());
    let known = &shared.informers.cluster_queues;
    let Some(mut cq) = known.get(key) else {
        return Ok(ReconcileResult::Done);
    };
    let terminating = cq.metadata.deletion_timestamp.is_some();
    if !terminating && !resource_in_use_finalizer::has_finalizer(&cq.metadata) {
        let mut after = ClusterQueue::clone(&cq);
        resource_in_use_finalizer::add_finalizer(&mut after.metadata);
        let Some(written) = ignore_not_found(update::update(&api, &after).await)? else {
            return Ok(ReconcileResult::Done);
        };
        known.observe_write(written.clone());
        cq = written;
    }
    if terminating
        && resource_in_use_finalizer::has_finalizer(&cq.metadata)
        && shared.engine().is_cluster_queue_empty(&key.name)
    {
        let mut after = ClusterQueue::clone(&cq);
        resource_in_use_finalizer::remove_finalizer(&mut after.metadata);
        ignore_not_found(update::update(&api, &after).await)?;
        return Ok(ReconcileResult::Done);
    }
    let Some(after) = with_updated_status(shared, &cq, &key.name) else {
        // The engine has not received it yet, or has dropped it.
        return Ok(ReconcileResult::Requeue);
    };
    if after.status != cq.status
        && let Some(written) = ignore_not_found(update::update_status(&api, &after).await)?
    {
        known.observe_write(written);
    }
    Ok(ReconcileResult::Done)
}

/// The ClusterQueue with its current status.
fn with_updated_status(
    shared: &ControllerContext,
    cq: &Arc<ClusterQueue>,
    name: &str,
) -> Option<ClusterQueue> {
    let now = shared.now();
    let mut engine = shared.engine();
    let readiness = engine.active_condition(name);
    let pending = engine.pending_counts(name)?;
    let usage = engine.cluster_queue_usage(name).ok()?;
    drop(engine);
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let mut cq = ClusterQueue::clone(cq);
    let condition = active_condition(
        &cq.metadata,
        now,
        readiness.active,
        &readiness.reason,
        readiness.message,
    );
    let status = &mut cq.status;
    status.flavors_reservation = usage.reserved;
    status.flavors_usage = usage.admitted;
    status.reserving_workloads = count(usage.reserving_workloads);
    status.admitted_workloads = count(usage.admitted_workloads);
    status.pending_workloads = count(pending.active + pending.inadmissible);
    set_condition(&mut status.conditions, condition);
    status.fair_sharing = usage
        .weighted_share
        .map(|weighted_share| FairSharingStatus { weighted_share });
    Some(cq)
}
