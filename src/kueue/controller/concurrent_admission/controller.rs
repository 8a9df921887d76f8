//! The controller of concurrent admission: event handlers and reconcile of a parent Workload.

use std::sync::Arc;

use super::variant_family::VariantFamily;
use super::{preemption_gate, sync_status, variant_activation, variants};
use crate::ControllerContext;
use crate::constants::UPDATES_BATCH_PERIOD;
use crate::event_recorder::EventSpec;
use crate::informers::{BY_CLUSTER_QUEUE, BY_LOCAL_QUEUE};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::concurrent_admission::{is_parent, parent};
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::workload::predicates;

const CONTROLLER: &str = "concurrent-admission-controller";

const WORKERS: usize = 10;

/// Starts the controller if its feature gate is enabled. The informers have to be synced.
pub(crate) fn start(shared: &ControllerContext) {
    if !shared.settings.enabled(Feature::ConcurrentAdmission) {
        return;
    }
    let queue = WorkQueue::new(&shared.ctx);
    let queue_handle = queue.clone();
    shared.informers.workloads.add_event_handler(move |change| {
        let wl = change.object();
        if let Some(key) = parent_key(wl) {
            queue_handle.add(key);
        }
    });
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .cluster_queues
        .add_event_handler(move |change| {
            if let Change::Updated { old, new } = change
                && flavors_by_resource_group(old) != flavors_by_resource_group(new)
            {
                for key in parents_for_cluster_queue(&s, new) {
                    queue_handle.add_after(key, UPDATES_BATCH_PERIOD);
                }
            }
        });
    let kind = ("Workload.kueue.x-k8s.io", WORKERS);
    shared.start_workers(
        &queue,
        "concurrent-admission",
        kind,
        |shared, key| async move { reconcile(&shared, &key).await },
    );
}

/// The parent of a variant, or the Workload itself if it is a parent.
fn parent_key(wl: &Workload) -> Option<ObjectKey> {
    if is_parent(wl) {
        return Some(ObjectKey::of(wl));
    }
    let (name, _) = parent(wl).filter(|(name, _)| !name.is_empty())?;
    Some(ObjectKey::new(predicates::namespace(wl), name))
}

fn flavors_by_resource_group(cq: &ClusterQueue) -> Vec<Vec<&str>> {
    let groups = cq.spec.resource_groups.iter();
    groups
        .map(|group| group.flavors.iter().map(|f| f.name.as_str()).collect())
        .collect()
}

fn parents_for_cluster_queue(shared: &ControllerContext, cq: &ClusterQueue) -> Vec<ObjectKey> {
    let name = ObjectKey::of(cq).name;
    let queues = shared
        .informers
        .local_queues
        .by_index(BY_CLUSTER_QUEUE, &name);
    let workloads = queues.iter().flat_map(|lq| {
        let key = ObjectKey::of(lq.as_ref());
        let index = format!("{}/{}", key.namespace, key.name);
        shared.informers.workloads.by_index(BY_LOCAL_QUEUE, &index)
    });
    workloads
        .filter(|wl| is_parent(wl))
        .map(|wl| ObjectKey::of(wl.as_ref()))
        .collect()
}

async fn reconcile(shared: &ControllerContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    let workload = shared.informers.workloads.get(key);
    let Some(parent) = workload.filter(|wl| is_parent(wl)) else {
        return Ok(ReconcileResult::Done);
    };
    let Some(mut family) = VariantFamily::of(shared, parent) else {
        // The ClusterQueue does not exist yet.
        return Ok(ReconcileResult::Requeue);
    };
    variants::create_variants(shared, &family).await?;
    variants::delete_stale_variants(shared, &mut family).await?;
    if sync_status::sync_variant_eviction_status(shared, &mut family).await? {
        return Ok(ReconcileResult::Done);
    }
    variant_activation::deactivate_variants(shared, &mut family).await?;
    variant_activation::activate_variants(shared, &mut family).await?;
    ignore_not_found(sync_status::sync_admission_status(shared, &mut family).await)?;
    let next = preemption_gate::open_next_preemption_gate(shared, &mut family).await?;
    Ok(next.map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter))
}

pub(super) fn record_event(
    shared: &ControllerContext,
    wl: &Workload,
    reason: &str,
    message: String,
) {
    let event = EventSpec::new(CONTROLLER, EventType::Normal, reason, message);
    shared.recorder.record(wl, event);
}

/// `"namespace/name"`, quoted as Go's `%q`.
pub(super) fn quoted(wl: &Workload) -> String {
    format!("{:?}", predicates::key(wl).to_string())
}

/// Replaces a cached Workload with the version written, if any.
pub(super) fn replace_if_written(kept: &mut Arc<Workload>, written: Option<Arc<Workload>>) {
    if let Some(written) = written {
        *kept = written;
    }
}

/// Whether a Workload is active and has no admission gate.
pub(super) fn is_admissible(shared: &ControllerContext, wl: &Workload) -> bool {
    predicates::is_admissible(wl, &shared.engine_gates)
}

/// Whether a Workload is evicted and still holds quota.
pub(super) fn is_evicted_with_quota(wl: &Workload) -> bool {
    wl.is_condition_true(c::EVICTED) && predicates::has_quota_reservation(wl)
}
