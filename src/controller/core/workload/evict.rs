//! Evicting a Workload outside of a cycle.

use std::sync::Arc;

use crate::Shared;
use crate::patch::{self, Insist};
use kueue_lab_admission::messages::EventType;
use kueue_lab_admission::status::{self, Eviction};
use kueue_lab_api::v1beta2::Workload;

/// Evicts a Workload, after `prepare` changed what else has to change; tells it if it had quota.
///
/// # Errors
/// When the API server refuses, such as for a conflict, or is not there.
pub async fn evict(
    shared: &Shared,
    wl: &Workload,
    eviction: &Eviction,
    prepare: impl FnOnce(&mut Workload),
) -> kube::Result<Option<Arc<Workload>>> {
    let now = shared.now();
    let written = patch::admission_status(shared, wl, Insist::Strict, |wl| {
        prepare(wl);
        status::evict(wl, eviction, now);
        true
    })
    .await?;
    if let Some(written) = &written
        && wl.status.admission.is_some()
    {
        let message = eviction.message.clone();
        super::tell(
            shared,
            written,
            EventType::Normal,
            &eviction.event_reason(),
            message,
        );
    }
    Ok(written)
}
