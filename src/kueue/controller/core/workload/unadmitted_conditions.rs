//! The conditions of a Workload that is not admitted: QuotaReserved, Admitted and Requeued.

use std::sync::Arc;

use super::workload_controller::record_event;
use crate::ControllerContext;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::status::{self, condition, set_condition, sync_admitted_condition};
use kueue_lab_engine::workload::predicates;

/// Syncs QuotaReserved, while it is False, and Admitted.
pub(super) async fn sync_unadmitted_conditions(
    shared: &ControllerContext,
    wl: Arc<Workload>,
) -> kube::Result<Arc<Workload>> {
    if predicates::is_admitted(&wl) {
        return Ok(wl);
    }
    let now = shared.now();
    let condition_state = match predicates::has_quota_reservation(&wl) {
        true => None,
        false => shared.engine().quota_reserved_false_condition(&wl),
    };
    let written =
        workload_patching::patch_admission_status(shared, &wl, StatusApplyMode::Strict, |wl| {
            let mut changed = false;
            if let Some((reason, message)) = condition_state {
                let cond = condition(wl, c::QUOTA_RESERVED, false, &reason, message, now);
                changed |= set_condition(&mut wl.status.conditions, cond);
            }
            changed | sync_admitted_condition(wl, now, &shared.engine_gates)
        })
        .await?;
    let Some(written) = written else {
        return Ok(wl);
    };
    if predicates::is_admitted(&written)
        && let Some(reserved) = written.condition(c::QUOTA_RESERVED)
        && let Some(admission) = &written.status.admission
    {
        let waited = now
            .duration_since(reserved.last_transition_time.0)
            .as_secs_f64();
        let message = format!(
            "Admitted by ClusterQueue {}, wait time since reservation was {waited:.0}s",
            admission.cluster_queue
        );
        record_event(
            shared,
            &written,
            EventType::Normal,
            c::event::ADMITTED,
            message,
        );
    }
    Ok(written)
}

/// Sets the Requeued condition. True if it changed.
pub(super) fn set_requeued_condition(
    wl: &mut Workload,
    reason: &str,
    message: &str,
    status: bool,
    now: jiff::Timestamp,
) -> bool {
    let cond = condition(wl, c::REQUEUED, status, reason, message, now);
    set_condition(&mut wl.status.conditions, cond)
}

/// Sets QuotaReserved to False with a reason.
pub(super) async fn patch_quota_reservation_unset(
    shared: &ControllerContext,
    wl: &Workload,
    reason: &str,
    message: &str,
) -> kube::Result<()> {
    let now = shared.now();
    workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
        status::unset_quota_reservation(wl, reason, message, now, &shared.engine_gates)
    })
    .await?;
    Ok(())
}

/// `granular` with the gate UnadmittedWorkloadsObservability, otherwise the legacy reason.
pub(super) fn granular_or_legacy_reason(
    shared: &ControllerContext,
    granular: &'static str,
    legacy: &'static str,
) -> &'static str {
    if shared.engine_gates.unadmitted_workloads_observability {
        granular
    } else {
        legacy
    }
}
