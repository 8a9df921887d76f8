//! [`Gates`]: the feature gates of Kueue that change a decision.
//!
//! Must not depend on how gates are configured. Gates that concern only controllers, metrics or
//! webhooks are not listed.

macro_rules! gates {
    ($($(#[$doc:meta])* $field:ident, $name:literal, $default:literal;)*) => {
        /// Feature gates by Kueue's names, with the defaults of the reference commit.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Gates {
            $($(#[$doc])* pub $field: bool,)*
        }

        impl Default for Gates {
            fn default() -> Self {
                Gates { $($field: $default,)* }
            }
        }

        impl Gates {
            /// The names of all gates that the engine uses.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            /// Sets a gate by name; false when the engine has no such gate.
            pub fn set(&mut self, name: &str, enabled: bool) -> bool {
                match name {
                    $($name => self.$field = enabled,)*
                    _ => return false,
                }
                true
            }

            /// Whether a gate is enabled, by name; none when the engine has no such gate.
            pub fn get(&self, name: &str) -> Option<bool> {
                match name {
                    $($name => Some(self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

gates! {
    /// A pod set may be admitted with fewer pods, down to its minimum.
    partial_admission, "PartialAdmission", true;
    /// `spec.flavorFungibility` decides when the next flavor is tried; the search resumes after the
    /// last tried flavor.
    flavor_fungibility, "FlavorFungibility", true;
    /// The last tried flavor is kept when the ClusterQueue changes during a cycle.
    flavor_fungibility_preserve_scan_progress, "FlavorFungibilityPreserveScanProgress", true;
    /// Priority orders the heads of a cohort's ClusterQueues.
    priority_sorting_within_cohort, "PrioritySortingWithinCohort", true;
    /// Preemptors that wait for their targets to terminate are ordered before other workloads of
    /// the cohort.
    prioritize_preemptor_workloads, "PrioritizePreemptorWorkloads", false;
    /// The priority-boost annotation adds to a workload's priority.
    priority_boost, "PriorityBoost", false;
    /// A ClusterQueue within its nominal quota preempts regardless of shares.
    fair_sharing_preempt_within_nominal, "FairSharingPreemptWithinNominal", true;
    /// An entry whose subtree does not borrow the requested resources wins its tournament.
    fair_sharing_prioritize_non_borrowing, "FairSharingPrioritizeNonBorrowing", true;
    /// The LocalQueues of a ClusterQueue are ordered by their consumed usage.
    admission_fair_sharing, "AdmissionFairSharing", true;
    /// Workloads with the same scheduling hash become inadmissible together.
    scheduling_equivalence_hashing, "SchedulingEquivalenceHashing", true;
    /// Conditions of unadmitted workloads have granular reasons.
    unadmitted_workloads_observability, "UnadmittedWorkloadsObservability", true;
    /// Conditions of a new workload are set when it is created.
    unadmitted_workloads_explicit_status, "UnadmittedWorkloadsExplicitStatus", false;
    /// An entry whose preemption targets overlap with another entry's is reassigned in the same
    /// cycle.
    recompute_assignment_upon_preemption_targets_overlap,
        "RecomputeAssignmentUponPreemptionTargetsOverlap", true;
    /// Undeclared resources may be ignored in the quota check.
    quota_check_strategy, "QuotaCheckStrategy", true;
    /// Reclaimable pods release quota.
    reclaimable_pods, "ReclaimablePods", true;
    /// The admission-gated-by annotation blocks admission.
    admission_gated_by, "AdmissionGatedBy", true;
    /// Elastic jobs scale through workload slices.
    elastic_jobs_via_workload_slices, "ElasticJobsViaWorkloadSlices", true;
    /// Elastic jobs may use topology-aware scheduling.
    elastic_jobs_via_workload_slices_with_tas, "ElasticJobsViaWorkloadSlicesWithTAS", false;
    /// One variant of a workload per flavor competes for admission.
    concurrent_admission, "ConcurrentAdmission", false;
    /// The manager cluster gates the preemptions of worker clusters.
    multi_kueue_orchestrated_preemption, "MultiKueueOrchestratedPreemption", false;
    /// Resource claims count towards quota.
    kueue_dra_integration, "KueueDRAIntegration", true;
    /// Extended resources backed by a DeviceClass count as its devices.
    kueue_dra_integration_extended_resource, "KueueDRAIntegrationExtendedResource", true;
    /// Devices may count by the counters they consume.
    kueue_dra_integration_partitionable_devices, "KueueDRAIntegrationPartitionableDevices", true;
    /// Devices may count by the capacity they consume.
    kueue_dra_integration_consumable_capacity, "KueueDRAIntegrationConsumableCapacity", false;
    /// Workloads with resource claims are rejected while KueueDRAIntegration is disabled.
    kueue_dra_reject_workloads_when_dra_disabled,
        "KueueDRARejectWorkloadsWhenDRADisabled", true;
    /// Workloads may request topology-aware scheduling.
    topology_aware_scheduling, "TopologyAwareScheduling", true;
    /// A topology assignment that an earlier entry invalidated is recomputed in the same cycle.
    tas_recompute_assignment_within_scheduling_cycle,
        "TASRecomputeAssignmentWithinSchedulingCycle", true;
    /// Unconstrained pods use the domains with the least free capacity.
    tas_profile_mixed, "TASProfileMixed", true;
    /// A workload whose unhealthy node cannot be replaced is evicted immediately.
    tas_failed_node_replacement_fail_fast, "TASFailedNodeReplacementFailFast", true;
    /// A workload of a single pod is not reassigned from its unhealthy node.
    skip_reassignment_for_pod_owned_workloads, "SkipReassignmentForPodOwnedWorkloads", true;
    /// Preferred topology requests use balanced placement.
    tas_balanced_placement, "TASBalancedPlacement", false;
    /// Topology assignments are encoded by common hostname prefixes.
    tas_assignments_encoding_by_hostname_prefix, "TASAssignmentsEncodingByHostnamePrefix", true;
    /// Preferred node affinity scores domains.
    tas_respect_node_affinity_preferred, "TASRespectNodeAffinityPreferred", false;
    /// Flavors with common nodes account for each other's usage.
    tas_handle_overlapping_flavors, "TASHandleOverlappingFlavors", true;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_set_by_name() {
        let mut gates = Gates::default();
        assert!(gates.set("PartialAdmission", false));
        assert!(!gates.partial_admission);
        assert!(!gates.set("NoSuchGate", true));
        assert!(Gates::NAMES.iter().all(|name| gates.get(name).is_some()));
    }
}
