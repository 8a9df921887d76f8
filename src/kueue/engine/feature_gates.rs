//! [`Gates`]: the feature gates of Kueue that change a decision.
//!
//! Gates that concern only controllers, metrics or webhooks are not listed.

use kueue_lab_api::config::{Feature, FeatureGates};

macro_rules! gates {
    ($($(#[$doc:meta])* $field:ident, $feature:ident;)*) => {
        /// The feature gates that the engine reads.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Gates {
            $($(#[$doc])* pub $field: bool,)*
        }

        impl From<&FeatureGates> for Gates {
            fn from(gates: &FeatureGates) -> Self {
                Gates { $($field: gates.enabled(Feature::$feature),)* }
            }
        }
    };
}

impl Default for Gates {
    fn default() -> Self {
        Self::from(&FeatureGates::default())
    }
}

gates! {
    /// A pod set may be admitted with fewer pods, down to its minimum.
    partial_admission, PartialAdmission;
    /// `spec.flavorFungibility` decides when the next flavor is tried; the search resumes after the
    /// last tried flavor.
    flavor_fungibility, FlavorFungibility;
    /// The last tried flavor is kept when the ClusterQueue changes during a cycle.
    flavor_fungibility_preserve_scan_progress, FlavorFungibilityPreserveScanProgress;
    /// Priority orders the heads of a cohort's ClusterQueues.
    priority_sorting_within_cohort, PrioritySortingWithinCohort;
    /// Preemptors that wait for their targets to terminate are ordered before other workloads of
    /// the cohort.
    prioritize_preemptor_workloads, PrioritizePreemptorWorkloads;
    /// The priority-boost annotation adds to a workload's priority.
    priority_boost, PriorityBoost;
    /// A ClusterQueue within its nominal quota preempts regardless of shares.
    fair_sharing_preempt_within_nominal, FairSharingPreemptWithinNominal;
    /// An entry whose subtree does not borrow the requested resources wins its tournament.
    fair_sharing_prioritize_non_borrowing, FairSharingPrioritizeNonBorrowing;
    /// The LocalQueues of a ClusterQueue are ordered by their consumed usage.
    admission_fair_sharing, AdmissionFairSharing;
    /// Workloads with the same scheduling hash become inadmissible together.
    scheduling_equivalence_hashing, SchedulingEquivalenceHashing;
    /// Conditions of unadmitted workloads have granular reasons.
    unadmitted_workloads_observability, UnadmittedWorkloadsObservability;
    /// Conditions of a new workload are set when it is created.
    unadmitted_workloads_explicit_status, UnadmittedWorkloadsExplicitStatus;
    /// An entry whose preemption targets overlap with another entry's is reassigned in the same
    /// cycle.
    recompute_assignment_upon_preemption_targets_overlap, RecomputeAssignmentUponPreemptionTargetsOverlap;
    /// Undeclared resources may be ignored in the quota check.
    quota_check_strategy, QuotaCheckStrategy;
    /// Reclaimable pods release quota.
    reclaimable_pods, ReclaimablePods;
    /// The admission-gated-by annotation blocks admission.
    admission_gated_by, AdmissionGatedBy;
    /// Elastic jobs scale through workload slices.
    elastic_jobs_via_workload_slices, ElasticJobsViaWorkloadSlices;
    /// Elastic jobs may use topology-aware scheduling.
    elastic_jobs_via_workload_slices_with_tas, ElasticJobsViaWorkloadSlicesWithTAS;
    /// One variant of a workload per flavor competes for admission.
    concurrent_admission, ConcurrentAdmission;
    /// The manager cluster gates the preemptions of worker clusters.
    multi_kueue_orchestrated_preemption, MultiKueueOrchestratedPreemption;
    /// Resource claims count towards quota.
    kueue_dra_integration, KueueDRAIntegration;
    /// Extended resources backed by a DeviceClass count as its devices.
    kueue_dra_integration_extended_resource, KueueDRAIntegrationExtendedResource;
    /// Devices may count by the counters they consume.
    kueue_dra_integration_partitionable_devices, KueueDRAIntegrationPartitionableDevices;
    /// Devices may count by the capacity they consume.
    kueue_dra_integration_consumable_capacity, KueueDRAIntegrationConsumableCapacity;
    /// Workloads with resource claims are rejected while KueueDRAIntegration is disabled.
    kueue_dra_reject_workloads_when_dra_disabled, KueueDRARejectWorkloadsWhenDRADisabled;
    /// Workloads may request topology-aware scheduling.
    topology_aware_scheduling, TopologyAwareScheduling;
    /// A topology assignment that an earlier entry invalidated is recomputed in the same cycle.
    tas_recompute_assignment_within_scheduling_cycle, TASRecomputeAssignmentWithinSchedulingCycle;
    /// Unconstrained pods use the domains with the least free capacity.
    tas_profile_mixed, TASProfileMixed;
    /// A workload whose unhealthy node cannot be replaced is evicted immediately.
    tas_failed_node_replacement_fail_fast, TASFailedNodeReplacementFailFast;
    /// A workload of a single pod is not reassigned from its unhealthy node.
    skip_reassignment_for_pod_owned_workloads, SkipReassignmentForPodOwnedWorkloads;
    /// Preferred topology requests use balanced placement.
    tas_balanced_placement, TASBalancedPlacement;
    /// Topology assignments are encoded by common hostname prefixes.
    tas_assignments_encoding_by_hostname_prefix, TASAssignmentsEncodingByHostnamePrefix;
    /// Preferred node affinity scores domains.
    tas_respect_node_affinity_preferred, TASRespectNodeAffinityPreferred;
    /// Flavors with common nodes account for each other's usage.
    tas_handle_overlapping_flavors, TASHandleOverlappingFlavors;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_those_of_kueue() {
        let off = FeatureGates::default().with(Feature::PartialAdmission, false);
        assert!(Gates::default().partial_admission);
        let expected = Gates {
            partial_admission: false,
            ..Gates::default()
        };
        assert_eq!(Gates::from(&off), expected);
    }
}
