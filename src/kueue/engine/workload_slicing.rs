//! Workload slices: an elastic job that scales up gets a new Workload, which replaces the old one
//! and takes over its quota.
//!
//! Must not depend on how flavors are assigned.

use std::sync::Arc;

use super::cache::{HierarchyNodeId, WorkloadIndex};
use super::feature_gates::Gates;
use super::preemption::Target;
use super::snapshot_transaction::SnapshotTransaction;
use super::workload::predicates::annotation;
use super::workload::{Info, WorkloadKey};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// The Workload that the `workload-slice-replacement-for` annotation names.
pub fn replacement_for_key(wl: &Workload) -> Option<WorkloadKey> {
    annotation(wl, c::WORKLOAD_SLICE_REPLACEMENT_FOR_ANNOTATION).map(WorkloadKey::parse)
}

/// The slice that a workload replaces, if it reserves quota in the same ClusterQueue.
pub(crate) fn replaced_workload_slice(
    wl: &Info,
    node: HierarchyNodeId,
    snapshot: &SnapshotTransaction<'_>,
) -> Option<(WorkloadIndex, Arc<Info>)> {
    if !snapshot.config.gates.elastic_jobs_via_workload_slices {
        return None;
    }
    let key = replacement_for_key(&wl.obj)?;
    let idx = snapshot.cluster_queue(node)?.reserving_workload(&key)?;
    let old = snapshot.workload(idx).filter(|w| !w.removed)?;
    (old.info.key.namespace() == wl.key.namespace()).then(|| (idx, old.info.clone()))
}

/// Removes the replaced slice from the preemption targets: it is finished, not preempted.
pub(crate) fn find_replaced_slice_target(
    wl: &Info,
    targets: &mut Vec<Target>,
    snapshot: &SnapshotTransaction<'_>,
    gates: &Gates,
) -> Option<Target> {
    if !gates.elastic_jobs_via_workload_slices {
        return None;
    }
    let key = replacement_for_key(&wl.obj)?;
    let is_slice = |t: &Target| snapshot.workload(t.idx).is_some_and(|w| w.info.key == key);
    let at = targets.iter().position(is_slice)?;
    Some(targets.remove(at))
}
