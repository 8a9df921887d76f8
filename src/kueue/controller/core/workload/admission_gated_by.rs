//! The AdmissionGatedBy annotation: a Workload with gates is not admissible.

use std::sync::Arc;

use super::unadmitted_conditions::{granular_or_legacy_reason, patch_quota_reservation_unset};
use super::workload_controller::record_event;
use crate::ControllerContext;
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::workload::predicates;

/// Syncs QuotaReserved with the annotation: sets the reason AdmissionGated or clears it. True if it
/// was written.
pub(super) async fn sync_admission_gated_by(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<bool> {
    let gates = &*shared.engine_gates;
    let has_gate = predicates::has_admission_gate(wl, gates);
    let on = gates.admission_gated_by;
    let is_gated = wl
        .condition(c::QUOTA_RESERVED)
        .is_some_and(|cond| cond.reason == q::ADMISSION_GATED);
    if !on || has_gate == is_gated {
        return Ok(false);
    }
    if has_gate {
        let by = predicates::annotation(wl, c::ADMISSION_GATED_BY_ANNOTATION).unwrap_or_default();
        let message = format!("Admission is gated by: {by}");
        patch_quota_reservation_unset(shared, wl, q::ADMISSION_GATED, &message).await?;
        let message = format!("Workload admission is gated by: {by}");
        record_event(
            shared,
            wl,
            EventType::Normal,
            c::event::ADMISSION_GATED,
            message,
        );
    } else {
        let reason = granular_or_legacy_reason(shared, q::PENDING_EVALUATION, q::PENDING);
        let message = "AdmissionGatedBy cleared, waiting for quota reservation";
        patch_quota_reservation_unset(shared, wl, reason, message).await?;
        let message = "Admission gate cleared, workload is now admissible";
        record_event(
            shared,
            wl,
            EventType::Normal,
            c::event::ADMISSION_GATE_CLEARED,
            message,
        );
    }
    Ok(true)
}
