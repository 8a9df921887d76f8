//! Jobs with several Workloads: all of them go to the cluster of the first.

use std::sync::Arc;

use super::context::{MultiKueueContext, UPDATES_BATCH_PERIOD};
use crate::informers::BY_OWNER_UID;
use crate::jobs::error::JobError;
use crate::jobs::integration_manager::Gvk;
use crate::jobs::multikueue::workload_index;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_engine::workload::predicates;

/// The Workloads of the job of `wl`, including `wl`; None if the job has only one.
pub(super) fn component_workloads(
    mk: &MultiKueueContext,
    wl: &Workload,
) -> Option<Vec<Arc<Workload>>> {
    let gvk = predicates::annotation(wl, c::JOB_OWNER_GVK_ANNOTATION)?;
    let mut owners = wl.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| Gvk::of(owner).to_string() == gvk)?;
    let workloads = &mk.shared.informers.workloads;
    let mut components = workloads.by_index(BY_OWNER_UID, &owner.uid);
    components.retain(|other| predicates::namespace(other) == predicates::namespace(wl));
    Some(components)
}

/// The cluster of the other Workloads of the job.
///
/// # Errors
/// They are in different clusters.
pub(super) fn assigned_cluster(
    wl: &Workload,
    components: &[Arc<Workload>],
) -> Result<Option<String>, JobError> {
    let others = components
        .iter()
        .filter(|other| predicates::name(other) != predicates::name(wl));
    let mut assigned: Option<&str> = None;
    for cluster in others.filter_map(|other| other.status.cluster_name.as_deref()) {
        if let Some(first) = assigned
            && first != cluster
        {
            return Err(JobError::Retryable(format!(
                "checking component workloads: component workloads assigned to different clusters: {first:?} and {cluster:?}"
            )));
        }
        assigned = Some(cluster);
    }
    Ok(assigned.map(str::to_owned))
}

/// Whether a Workload is the one that is dispatched first.
pub(super) fn is_primary(wl: &Workload, components: &[Arc<Workload>]) -> bool {
    let Some(index) = workload_index(wl) else {
        return components.is_empty();
    };
    let mut others = components.iter().filter_map(|other| workload_index(other));
    others.all(|other| other >= index)
}

/// Enqueues the other Workloads of the job.
pub(super) fn enqueue_component_workloads(mk: &MultiKueueContext, wl: &Workload) {
    for other in component_workloads(mk, wl).unwrap_or_default() {
        if predicates::name(&other) != predicates::name(wl) {
            let key = ObjectKey::of(other.as_ref());
            mk.workload_events.add_after(key, UPDATES_BATCH_PERIOD);
        }
    }
}
