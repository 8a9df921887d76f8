//! [`TasGates`]: the feature gates of topology-aware scheduling.

use crate::feature_gates::Gates;

/// The feature gates that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TasGates {
    /// Unconstrained pods go where least is free.
    pub(super) profile_mixed: bool,
    /// Preferred placement is balanced.
    pub(super) balanced: bool,
    /// Preferred node affinity counts.
    pub(super) affinity_preferred: bool,
    /// Flavors that share nodes share their usage.
    pub(super) overlapping: bool,
    /// Elastic workloads keep their places.
    pub(super) elastic: bool,
    /// Workloads of one plain pod are not moved off a failed node.
    pub(super) skip_pod_owned: bool,
}

impl TasGates {
    pub(super) fn of(gates: &Gates) -> Self {
        TasGates {
            profile_mixed: gates.tas_profile_mixed,
            balanced: gates.tas_balanced_placement,
            affinity_preferred: gates.tas_respect_node_affinity_preferred,
            overlapping: gates.tas_handle_overlapping_flavors,
            elastic: gates.elastic_jobs_via_workload_slices_with_tas,
            skip_pod_owned: gates.skip_reassignment_for_pod_owned_workloads,
        }
    }
}
