//! Workloads that request devices through dynamic resource allocation: their devices are counted
//! before they are queued.

use std::sync::Arc;
use std::time::Duration;

use super::unadmitted_conditions::set_requeued_condition;
use crate::ControllerContext;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::field::{FieldErrorKind, aggregate};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_blocking::compute;
use kueue_lab_controller_runtime::{Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::dra::{
    GATE_DISABLED, RESOURCE_CLAIMS_NOT_SUPPORTED, has_resource_claims, needs_dra_reconcile,
    requests_extended_resource,
};
use kueue_lab_engine::status::unset_quota_reservation;
use kueue_lab_engine::workload::predicates::{self, Status};

/// Batch period for changes of a DeviceClass.
const DEVICE_CLASS_BATCH_PERIOD: Duration = Duration::from_secs(1);

/// Enqueues pending Workloads whose devices may be counted differently.
pub(super) fn add_event_handlers(shared: &ControllerContext, queue: &WorkQueue<ObjectKey>) {
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .limit_ranges
        .add_event_handler(move |change| {
            let range = change.object();
            let namespace = ObjectKey::of(range.as_ref()).namespace;
            enqueue_pending_dra_workloads(&s, &queue_handle, |wl| {
                predicates::namespace(wl) == &*namespace
            });
        });
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .runtime_classes
        .add_event_handler(move |change| {
            let class = change.object();
            let name = class.metadata.name.as_deref();
            enqueue_pending_dra_workloads(&s, &queue_handle, |wl| {
                let specs = wl.spec.pod_sets.iter();
                let mut specs = specs.filter_map(|set| set.template.spec.as_ref());
                specs.any(|spec| spec.runtime_class_name.as_deref() == name)
            });
        });
    let Some(devices) = &shared.informers.dra else {
        return;
    };
    let (queue_handle, s) = (queue.clone(), shared.clone());
    devices.device_classes.add_event_handler(move |change| {
        let versions = match change {
            Change::Updated { old, new } => vec![old, new],
            Change::Added(class) | Change::Deleted(class) => vec![class],
        };
        let names = versions.iter();
        let names = names.filter_map(|class| class.spec.extended_resource_name.as_deref());
        for name in names.filter(|name| !name.is_empty()) {
            for wl in pending_workloads(&s).filter(|wl| requests_extended_resource(wl, name)) {
                queue_handle.add_after(ObjectKey::of(wl.as_ref()), DEVICE_CLASS_BATCH_PERIOD);
            }
        }
    });
}

fn pending_workloads(shared: &ControllerContext) -> impl Iterator<Item = Arc<Workload>> {
    let all = shared.informers.workloads.list().into_iter();
    all.filter(|wl| predicates::status(wl) == Status::Pending)
}

fn enqueue_pending_dra_workloads(
    shared: &ControllerContext,
    queue: &WorkQueue<ObjectKey>,
    is_affected: impl Fn(&Workload) -> bool,
) {
    let devices = shared.engine().dra_cache();
    for wl in pending_workloads(shared).filter(|wl| is_affected(wl)) {
        if needs_dra_reconcile(&wl, &devices, &shared.engine_gates) {
            queue.add(ObjectKey::of(wl.as_ref()));
        }
    }
}

/// The result of counting the devices of a Workload.
pub(super) enum DraOutcome {
    /// Continue the reconciliation.
    Continue(Arc<Workload>),
    /// Stop the reconciliation.
    Stop(ReconcileResult),
}

/// Counts the devices of a pending Workload and queues it, or sets the reason it is inadmissible.
pub(super) async fn count(
    shared: &ControllerContext,
    wl: Arc<Workload>,
) -> kube::Result<DraOutcome> {
    let is_pending = predicates::status(&wl) == Status::Pending;
    if !is_pending || !shared.engine().needs_dra_reconcile(&wl) {
        return Ok(DraOutcome::Continue(wl));
    }
    if !shared.engine_gates.kueue_dra_integration {
        let message = GATE_DISABLED;
        mark_dra_inadmissible(shared, &wl, message, message, RequeuedUpdate::Always).await?;
        return Ok(DraOutcome::Stop(ReconcileResult::Done));
    }
    if has_resource_claims(&wl) {
        let message = RESOURCE_CLAIMS_NOT_SUPPORTED;
        let requeued = "DRA resource claims not supported";
        mark_dra_inadmissible(shared, &wl, message, requeued, RequeuedUpdate::IfChanged).await?;
        return Ok(DraOutcome::Stop(ReconcileResult::Done));
    }
    let inputs = shared.engine().dra_request_inputs(&wl);
    // Selectors can be expensive; the scheduler can use the engine meanwhile.
    let counted = compute(|| inputs.map_or(Ok(None), |inputs| inputs.count()));
    let counted = match counted {
        Ok(counted) => counted,
        Err(errors) => {
            let message = aggregate(&errors);
            tracing::debug!(workload = %predicates::key(&wl), message, "cannot count devices");
            mark_dra_inadmissible(shared, &wl, &message, &message, RequeuedUpdate::IfChanged)
                .await?;
            let transient = errors.iter().any(|e| e.kind == FieldErrorKind::Internal);
            return Ok(DraOutcome::Stop(match transient {
                true => ReconcileResult::Requeue,
                false => ReconcileResult::Done,
            }));
        }
    };
    let wl = clear_dra_inadmissible(shared, wl).await?;
    let now = shared.now();
    let queued = shared.update_engine(|engine| {
        if !predicates::is_admissible(&wl, &engine.config().gates) {
            return Ok(());
        }
        engine.queue_workload_with_dra(&wl, counted.as_ref(), now)
    });
    match queued {
        Ok(()) => Ok(DraOutcome::Continue(wl)),
        // The queue does not exist yet.
        Err(_) => Ok(DraOutcome::Stop(ReconcileResult::Requeue)),
    }
}

/// The case in which the Requeued condition is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequeuedUpdate {
    Always,
    /// Together with another change.
    IfChanged,
}

/// Sets QuotaReserved and Requeued to False on a Workload whose devices cannot be counted.
async fn mark_dra_inadmissible(
    shared: &ControllerContext,
    wl: &Workload,
    message: &str,
    requeued: &str,
    requeued_update: RequeuedUpdate,
) -> kube::Result<()> {
    let gates = &*shared.engine_gates;
    let reason = match gates.unadmitted_workloads_observability {
        true => q::MISCONFIGURED,
        false => q::INADMISSIBLE,
    };
    let now = shared.now();
    workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
        let unset = unset_quota_reservation(wl, reason, message, now, gates);
        let with = requeued_update == RequeuedUpdate::Always || unset;
        let requeued = with && set_requeued_condition(wl, q::INADMISSIBLE, requeued, false, now);
        unset || requeued
    })
    .await?;
    Ok(())
}

/// Clears the conditions set by [`mark_dra_inadmissible`]. Written at once if the devices could not
/// be counted before; otherwise with the next write.
async fn clear_dra_inadmissible(
    shared: &ControllerContext,
    wl: Arc<Workload>,
) -> kube::Result<Arc<Workload>> {
    let is_set = [c::QUOTA_RESERVED, c::REQUEUED]
        .into_iter()
        .any(|type_| predicates::false_condition(&wl, type_).is_some());
    if !is_set {
        return Ok(wl);
    }
    let inadmissible = predicates::false_condition(&wl, c::REQUEUED)
        .is_some_and(|cond| cond.reason == q::INADMISSIBLE);
    let clear = |wl: &mut Workload| {
        wl.status.conditions.retain(|cond| {
            cond.status != "False" || ![c::QUOTA_RESERVED, c::REQUEUED].contains(&&*cond.type_)
        });
        true
    };
    if inadmissible {
        let written =
            workload_patching::patch_admission_status(shared, &wl, StatusApplyMode::Strict, clear)
                .await?;
        return Ok(written.unwrap_or(wl));
    }
    let mut cleared = Workload::clone(&wl);
    clear(&mut cleared);
    Ok(Arc::new(cleared))
}
