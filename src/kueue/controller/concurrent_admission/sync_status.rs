//! Syncs the status of variants to their parent and back.

use std::sync::Arc;

use super::controller::{is_evicted_with_quota, replace_if_written};
use super::variant_family::VariantFamily;
use crate::ControllerContext;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_engine::status::{
    condition, finish, set_condition, set_quota_reservation, unset_quota_reservation,
};
use kueue_lab_engine::workload::predicates;

/// Evicts the parent of an evicted variant, and releases the quota of the variant once the parent
/// has none. True while that is in progress.
pub(super) async fn sync_variant_eviction_status(
    shared: &ControllerContext,
    family: &mut VariantFamily,
) -> kube::Result<bool> {
    let Some(i) = family
        .variants
        .iter()
        .position(|wl| is_evicted_with_quota(wl))
    else {
        return Ok(false);
    };
    if !predicates::has_quota_reservation(&family.parent) {
        clear_workload_admission(shared, &mut family.variants[i]).await?;
        return Ok(false);
    }
    if !predicates::is_evicted(&family.parent) {
        let message = "Admitted variant was evicted";
        evict(shared, &family.parent, "VariantEvicted", message).await?;
    }
    Ok(true)
}

async fn evict(
    shared: &ControllerContext,
    wl: &Workload,
    reason: &str,
    message: &str,
) -> kube::Result<()> {
    let now = shared.now();
    workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
        let cond = condition(wl, c::EVICTED, true, reason, message, now);
        set_condition(&mut wl.status.conditions, cond)
    })
    .await?;
    Ok(())
}

/// Removes the admission of an evicted variant.
pub(super) async fn clear_workload_admission(
    shared: &ControllerContext,
    wl: &mut Arc<Workload>,
) -> kube::Result<()> {
    let Some(evicted) = wl.condition(c::EVICTED).cloned() else {
        return Ok(());
    };
    let requeued = [c::evicted::PREEMPTED, c::evicted::NODE_FAILURES].contains(&&*evicted.reason);
    let gates = &*shared.engine_gates;
    let reason = match gates.unadmitted_workloads_observability {
        true => q::PENDING_EVALUATION,
        false => q::PENDING,
    };
    let now = shared.now();
    let written =
        workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
            let (eviction_reason, message) = (&*evicted.reason, &*evicted.message);
            let cond = condition(wl, c::REQUEUED, requeued, eviction_reason, message, now);
            let changed = set_condition(&mut wl.status.conditions, cond);
            unset_quota_reservation(wl, reason, message, now, gates) || changed
        })
        .await?;
    replace_if_written(wl, written);
    Ok(())
}

/// Admits the parent with the assignment of its admitted variant, evicts it when none is admitted,
/// and copies PodsReady and Finished to the variants.
pub(super) async fn sync_admission_status(
    shared: &ControllerContext,
    family: &mut VariantFamily,
) -> kube::Result<()> {
    if let Some(finished) = predicates::true_condition(&family.parent, c::FINISHED).cloned() {
        let now = shared.now();
        for wl in &mut family.variants {
            let written = workload_patching::patch_admission_status(
                shared,
                wl,
                StatusApplyMode::Strict,
                |wl| finish(wl, &finished.reason, &finished.message, now),
            );
            let written = ignore_not_found(written.await)?.flatten();
            replace_if_written(wl, written);
        }
        return Ok(());
    }
    let admitted = family
        .variants
        .iter()
        .position(|wl| wl.is_condition_true(c::ADMITTED));
    let is_admitted = predicates::is_admitted(&family.parent);
    let Some(i) = admitted else {
        if is_admitted {
            let message = "No variant is running";
            evict(shared, &family.parent, "ConcurrentAdmission", message).await?;
        }
        return Ok(());
    };
    let now = shared.now();
    if let Some(ready) = family.parent.condition(c::PODS_READY).cloned() {
        let variant = &mut family.variants[i];
        let written = workload_patching::patch_admission_status(
            shared,
            variant,
            StatusApplyMode::Strict,
            |wl| set_condition(&mut wl.status.conditions, ready),
        )
        .await?;
        replace_if_written(variant, written);
    }
    let variant = family.variants[i].clone();
    let Some(admission) = variant.status.admission.clone().filter(|_| !is_admitted) else {
        return Ok(());
    };
    let written = workload_patching::patch_admission_status(
        shared,
        &family.parent,
        StatusApplyMode::Strict,
        |wl| {
            set_quota_reservation(wl, admission, now);
            let message = format!("The variant {} is admitted", predicates::name(&variant));
            let cond = condition(wl, c::ADMITTED, true, c::ADMITTED, message, now);
            set_condition(&mut wl.status.conditions, cond);
            true
        },
    )
    .await?;
    replace_if_written(&mut family.parent, written);
    Ok(())
}
