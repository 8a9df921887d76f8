//! What is different about Workloads of concurrent admission.

use std::sync::Arc;

use super::super::write;
use crate::Shared;
use crate::patch;
use kueue_lab_admission::concurrent;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// Labels a Workload whose ClusterQueue has it stand for variants. True when that was done.
pub(super) async fn mark_parent(shared: &Shared, wl: &Arc<Workload>) -> kube::Result<bool> {
    let stands = shared.engine().stands_for_variants(wl);
    if !stands || concurrent::is_parent(wl) {
        return Ok(false);
    }
    let mut marked = Workload::clone(wl);
    let labels = marked.metadata.labels.get_or_insert_default();
    labels.insert(
        c::CONCURRENT_ADMISSION_PARENT_LABEL.to_owned(),
        "true".to_owned(),
    );
    let api = patch::workloads(shared, predicates::namespace(wl));
    let written = write::update(&api, &marked).await?;
    shared.informers.workloads.observe(written);
    Ok(true)
}

/// Whether a Workload only stands for its variants: these have the admission checks.
pub(super) fn stands_for_others(shared: &Shared, wl: &Workload) -> bool {
    shared.settings.enabled(Feature::ConcurrentAdmission) && concurrent::is_parent(wl)
}

/// Whether a Workload is a variant of another, which has the pods.
pub(super) fn is_variant(shared: &Shared, wl: &Workload) -> bool {
    shared.settings.enabled(Feature::ConcurrentAdmission) && concurrent::is_variant(wl)
}
