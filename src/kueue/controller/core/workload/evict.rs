//! Eviction of a Workload outside a scheduling cycle.

use std::sync::Arc;

use super::workload_controller::record_event;
use crate::ControllerContext;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::status::{self, Eviction};

/// Evicts a Workload, together with the changes made by `prepare`; records Events and metrics if it
/// held quota.
///
/// # Errors
/// The API server rejects the request, for example with a Conflict, or is unavailable.
pub(crate) async fn evict(
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
