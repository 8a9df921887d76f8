//! Deactivation of a Workload: the DeactivationTarget condition, and eviction when `spec.active` is
//! false.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::json;

use super::evict::evict;
use crate::ControllerContext;
use crate::update;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::ReconcileResult;
use kueue_lab_engine::status::{Eviction, set_condition};
use kueue_lab_engine::workload::predicates;

/// Sets `spec.active` of a Workload with DeactivationTarget to false. None if it has none.
pub(super) async fn reconcile_deactivation_target(
    shared: &ControllerContext,
    wl: &Workload,
) -> kube::Result<Option<ReconcileResult>> {
    if !wl.is_condition_true(c::DEACTIVATION_TARGET) {
        return Ok(None);
    }
    let mut after = wl.clone();
    after.spec.active = Some(false);
    let api = workload_patching::workload_api(shared, predicates::namespace(wl));
    let written = update::update(&api, &after).await?;
    shared.informers.workloads.observe_write(written);
    Ok(Some(ReconcileResult::Done))
}

/// Evicts a deactivated Workload and clears its requeue state. None if both are done.
pub(super) async fn reconcile_deactivated(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<Option<ReconcileResult>> {
    let target = wl.condition(c::DEACTIVATION_TARGET).cloned();
    if !predicates::is_evicted(wl) {
        let mut eviction = Eviction::new(c::evicted::DEACTIVATED, "The workload is deactivated");
        if let Some(target) = &target {
            eviction.cause.clone_from(&target.reason);
            eviction.message = format!("{} due to {}", eviction.message, target.message);
        }
        evict(shared, wl, &eviction, |wl| {
            wl.status
                .conditions
                .retain(|cond| cond.type_ != c::DEACTIVATION_TARGET);
            wl.status.requeue_state = None;
        })
        .await?;
        return Ok(Some(ReconcileResult::Done));
    }
    if wl.status.requeue_state.is_none() {
        return Ok(None);
    }
    let conditions = wl.status.conditions.iter();
    let conditions: Vec<_> = conditions
        .filter(|cond| cond.type_ != c::DEACTIVATION_TARGET)
        .collect();
    let mut status = json!({ "requeueState": null });
    if target.is_some() {
        status["conditions"] = json!(conditions);
    }
    workload_patching::merge_patch_workload_status(shared, wl, status).await?;
    Ok(Some(ReconcileResult::Done))
}

/// Sets the DeactivationTarget condition, together with the changes made by `mutate`.
pub(super) async fn set_deactivation_target(
    shared: &ControllerContext,
    wl: &Workload,
    reason: &str,
    message: &str,
    mutate: impl FnOnce(&mut Workload),
) -> kube::Result<()> {
    let now = shared.now();
    workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
        let before = wl.status.accumulated_past_execution_time_seconds;
        mutate(wl);
        let cond = Condition {
            type_: c::DEACTIVATION_TARGET.to_owned(),
            status: "True".to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: Time(now),
            observed_generation: wl.metadata.generation.filter(|g| *g != 0),
        };
        let changed = set_condition(&mut wl.status.conditions, cond);
        changed || before != wl.status.accumulated_past_execution_time_seconds
    })
    .await?;
    Ok(())
}
