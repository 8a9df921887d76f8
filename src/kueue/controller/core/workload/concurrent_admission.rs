//! Parents and variants of concurrent admission, as the Workload controller treats them.

use std::sync::Arc;

use crate::ControllerContext;
use crate::update;
use crate::workload_patching;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::concurrent_admission;
use kueue_lab_engine::workload::predicates;

/// Labels a Workload as a parent, if its ClusterQueue has a concurrent admission policy. True if it
/// was written.
pub(super) async fn label_concurrent_admission_parent(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<bool> {
    let is_parent = shared.engine().is_concurrent_admission_parent(wl);
    if !is_parent || concurrent_admission::is_parent(wl) {
        return Ok(false);
    }
    let mut parent = Workload::clone(wl);
    let labels = parent.metadata.labels.get_or_insert_default();
    labels.insert(
        c::CONCURRENT_ADMISSION_PARENT_LABEL.to_owned(),
        "true".to_owned(),
    );
    let api = workload_patching::workload_api(shared, predicates::namespace(wl));
    let written = update::update(&api, &parent).await?;
    shared.informers.workloads.observe_write(written);
    Ok(true)
}

/// Whether a Workload is a parent: its variants have the admission checks.
pub(super) fn is_concurrent_admission_parent(shared: &ControllerContext, wl: &Workload) -> bool {
    shared.settings.enabled(Feature::ConcurrentAdmission) && concurrent_admission::is_parent(wl)
}

/// Whether a Workload is a variant: its parent has the pods.
pub(super) fn is_concurrent_admission_variant(shared: &ControllerContext, wl: &Workload) -> bool {
    shared.settings.enabled(Feature::ConcurrentAdmission) && concurrent_admission::is_variant(wl)
}
