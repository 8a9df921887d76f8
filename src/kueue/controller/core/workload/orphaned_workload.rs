//! Orphaned Workloads: they are finished, and their finalizer is removed.

use std::sync::Arc;

use super::retention::remove_finalizer;
use crate::ControllerContext;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::status::finish;
use kueue_lab_engine::workload::predicates;

/// Whether a Workload is orphaned: it has no owner, and it is terminating or belonged to a job.
fn is_orphaned_workload(shared: &ControllerContext, wl: &Workload) -> bool {
    let owned = wl
        .metadata
        .owner_references
        .as_ref()
        .is_some_and(|o| !o.is_empty());
    let of_job = predicates::label(wl, c::JOB_UID_LABEL).is_some_and(|uid| !uid.is_empty());
    let finishes = shared.settings.enabled(Feature::FinishOrphanedWorkloads);
    !owned && (wl.metadata.deletion_timestamp.is_some() || (finishes && of_job))
}

/// Finishes an orphaned Workload and removes its finalizer. None if the reconciliation ends here.
pub(super) async fn finish_orphaned(
    shared: &ControllerContext,
    mut wl: Arc<Workload>,
) -> kube::Result<Option<Arc<Workload>>> {
    if !is_orphaned_workload(shared, &wl) {
        return Ok(Some(wl));
    }
    let finishes = shared.settings.enabled(Feature::FinishOrphanedWorkloads);
    let terminating = wl.metadata.deletion_timestamp.is_some();
    if finishes && !terminating {
        let now = shared.now();
        let message = "The workload's owner no longer exists";
        let written =
            workload_patching::patch_admission_status(shared, &wl, StatusApplyMode::Strict, |wl| {
                finish(wl, c::finished::OWNER_NOT_FOUND, message, now)
            })
            .await?;
        wl = written.unwrap_or(wl);
    }
    let wl = remove_finalizer(shared, wl).await?;
    Ok((finishes && !terminating).then_some(wl))
}
