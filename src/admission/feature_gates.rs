//! [`Gates`]: the feature gates of Kueue that change a decision.
//!
//! Must not know how gates are configured; gates that only concern controllers, metrics or
//! webhooks are not here.

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
            /// Kueue's names of all gates the engine looks at.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            /// Sets the gate with Kueue's name `name`; false when the engine has no such gate.
            pub fn set(&mut self, name: &str, enabled: bool) -> bool {
                match name {
                    $($name => self.$field = enabled,)*
                    _ => return false,
                }
                true
            }

            /// Whether the gate with Kueue's name `name` is on; none when the engine has no such
            /// gate.
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
    /// A ClusterQueue says when to try the next flavor, and the search is resumed where it stopped.
    flavor_fungibility, "FlavorFungibility", true;
    /// Progress of the flavor search survives a cycle in which the ClusterQueue changed.
    flavor_fungibility_preserve_scan_progress, "FlavorFungibilityPreserveScanProgress", true;
    /// Priority orders the heads of a cohort's ClusterQueues.
    priority_sorting_within_cohort, "PrioritySortingWithinCohort", true;
    /// Workloads waiting for their victims to go come before others of the cohort.
    prioritize_preemptor_workloads, "PrioritizePreemptorWorkloads", false;
    /// The priority-boost annotation adds to a workload's priority.
    priority_boost, "PriorityBoost", false;
    /// A ClusterQueue within its nominal quota preempts regardless of shares.
    fair_sharing_preempt_within_nominal, "FairSharingPreemptWithinNominal", true;
    /// A subtree that does not borrow what the workload asks for wins its tournament.
    fair_sharing_prioritize_non_borrowing, "FairSharingPrioritizeNonBorrowing", true;
    /// LocalQueues of a ClusterQueue are served by their past usage.
    admission_fair_sharing, "AdmissionFairSharing", true;
    /// Equivalent workloads are parked together.
    scheduling_equivalence_hashing, "SchedulingEquivalenceHashing", true;
    /// Conditions say why a workload is not admitted with fine-grained reasons.
    unadmitted_workloads_observability, "UnadmittedWorkloadsObservability", true;
    /// A new workload gets its unadmitted conditions at once.
    unadmitted_workloads_explicit_status, "UnadmittedWorkloadsExplicitStatus", false;
    /// An entry whose victims another one claimed looks for others in the same cycle.
    recompute_assignment_upon_preemption_targets_overlap,
        "RecomputeAssignmentUponPreemptionTargetsOverlap", true;
    /// Undeclared resources may be left out of the quota check.
    quota_check_strategy, "QuotaCheckStrategy", true;
    /// Finished pods give quota back.
    reclaimable_pods, "ReclaimablePods", true;
    /// The admission-gated-by annotation keeps a workload out of the queues.
    admission_gated_by, "AdmissionGatedBy", true;
    /// Elastic jobs scale through workload slices.
    elastic_jobs_via_workload_slices, "ElasticJobsViaWorkloadSlices", true;
    /// Elastic jobs may use topology-aware scheduling.
    elastic_jobs_via_workload_slices_with_tas, "ElasticJobsViaWorkloadSlicesWithTAS", false;
    /// One variant of a workload per flavor competes for admission.
    concurrent_admission, "ConcurrentAdmission", false;
    /// A manager cluster holds preemptions of its workers back by gates.
    multi_kueue_orchestrated_preemption, "MultiKueueOrchestratedPreemption", false;
    /// Pods' resource claims count towards quota.
    kueue_dra_integration, "KueueDRAIntegration", true;
    /// Extended resources that a DeviceClass stands behind count as its devices.
    kueue_dra_integration_extended_resource, "KueueDRAIntegrationExtendedResource", true;
    /// Devices may count by the counters they use up.
    kueue_dra_integration_partitionable_devices, "KueueDRAIntegrationPartitionableDevices", true;
    /// Devices may count by the capacity they are asked for.
    kueue_dra_integration_consumable_capacity, "KueueDRAIntegrationConsumableCapacity", false;
    /// Workloads with resource claims are refused where these do not count.
    kueue_dra_reject_workloads_when_dra_disabled,
        "KueueDRARejectWorkloadsWhenDRADisabled", true;
    /// Workloads ask for placement within a topology.
    topology_aware_scheduling, "TopologyAwareScheduling", true;
    /// A topology assignment another entry made impossible is computed anew in the same cycle.
    tas_recompute_assignment_within_scheduling_cycle,
        "TASRecomputeAssignmentWithinSchedulingCycle", true;
    /// Unconstrained pods go where least capacity is free.
    tas_profile_mixed, "TASProfileMixed", true;
    /// A failed node is replaced within the assignment.
    tas_failed_node_replacement, "TASFailedNodeReplacement", true;
    /// A workload whose failed node cannot be replaced is evicted at once.
    tas_failed_node_replacement_fail_fast, "TASFailedNodeReplacementFailFast", true;
    /// A node counts as failed when a pod on it terminates.
    tas_replace_node_on_pod_termination, "TASReplaceNodeOnPodTermination", true;
    /// A node counts as failed by its taints.
    tas_replace_node_on_node_taints, "TASReplaceNodeOnNodeTaints", true;
    /// A workload of a single pod is not moved off its failed node.
    skip_reassignment_for_pod_owned_workloads, "SkipReassignmentForPodOwnedWorkloads", true;
    /// Preferred placement is balanced over domains.
    tas_balanced_placement, "TASBalancedPlacement", false;
    /// Assignments are written by common prefixes of hostnames.
    tas_assignments_encoding_by_hostname_prefix, "TASAssignmentsEncodingByHostnamePrefix", true;
    /// Pod sets may constrain slices on several levels.
    tas_multi_layer_topology, "TASMultiLayerTopology", true;
    /// Preferred node affinity scores domains.
    tas_respect_node_affinity_preferred, "TASRespectNodeAffinityPreferred", false;
    /// Flavors that share nodes share their usage.
    tas_handle_overlapping_flavors, "TASHandleOverlappingFlavors", true;
    /// Nodes are matched by the scheduler library.
    scheduler_library_integration, "SchedulerLibraryIntegration", false;
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
