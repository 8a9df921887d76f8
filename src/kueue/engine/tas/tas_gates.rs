//! [`TasGates`]: the feature gates of topology-aware scheduling.

use crate::feature_gates::Gates;

/// The feature gates of topology-aware scheduling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TasGates {
    /// TASProfileMixed: unconstrained pods use the domains with the least free capacity.
    pub(super) profile_mixed: bool,
    /// TASBalancedPlacement: preferred topology requests use balanced placement.
    pub(super) balanced: bool,
    /// TASRespectNodeAffinityPreferred: preferred node affinity scores domains.
    pub(super) affinity_preferred: bool,
    /// TASHandleOverlappingFlavors: flavors with common nodes account for each other's usage.
    pub(super) overlapping: bool,
    /// ElasticJobsViaWorkloadSlicesWithTAS: replacement slices keep their domains.
    pub(super) elastic: bool,
    /// SkipReassignmentForPodOwnedWorkloads: workloads of a single pod are not reassigned.
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
