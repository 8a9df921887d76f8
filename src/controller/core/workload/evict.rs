//! Evicting a Workload outside of a cycle.

use std::sync::Arc;

use super::workload_controller::record_event;
use crate::ControllerContext;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_admission::messages::EventType;
use kueue_lab_admission::status::{self, Eviction};
use kueue_lab_api::v1beta2::Workload;

/// Evicts a Workload, after `prepare` changed what else has to change; tells it if it had quota.
///
/// # Errors
/// When the API server refuses, such as for a conflict, or is not there.
pub async fn evict(
    shared: &ControllerContext,
    wl: &Workload,
    eviction: &Eviction,
    prepare: impl FnOnce(&mut Workload),
) -> kube::Result<Option<Arc<Workload>>> {
    let now = shared.now();
    let written =
        workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
            prepare(wl);
            status::evict(wl, eviction, now);
            true
        })
        .await?;
    if let Some(written) = &written
        && wl.status.admission.is_some()
    {
        let message = eviction.message.clone();
        record_event(
            shared,
            written,
            EventType::Normal,
            &eviction.event_reason(),
            message,
        );
    }
    Ok(written)
}
