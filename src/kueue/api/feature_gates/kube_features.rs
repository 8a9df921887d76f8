//! Kueue's feature gates (`pkg/features/kube_features.go` of the reference commit): name, default,
//! stage, the release of that default and stage, and dependencies.

use super::feature::FeatureStage;

/// Declares the gates as an enumeration and the table of their properties.
macro_rules! features {
    ($( $(#[$meta:meta])* $name:ident: $default:literal, $stage:ident, $since:literal, [$($dep:ident),*]; )+) => {
        /// A feature gate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Feature {
            $( $(#[$meta])* $name, )+
        }

        /// The specifications of all gates, by name.
        pub(super) const FEATURE_SPECS: &[FeatureSpec] = &[
            $( FeatureSpec {
                feature: Feature::$name,
                name: stringify!($name),
                default: $default,
                stage: FeatureStage::$stage,
                since: $since,
                depends_on: &[ $( Feature::$dep ),* ],
            }, )+
        ];
    };
}

/// The specification of a feature gate.
#[derive(Debug)]
pub(super) struct FeatureSpec {
    pub(super) feature: Feature,
    pub(super) name: &'static str,
    pub(super) default: bool,
    pub(super) stage: FeatureStage,
    pub(super) since: &'static str,
    pub(super) depends_on: &'static [Feature],
}

features! {
    /// The LocalQueues of a ClusterQueue are ordered by their consumed usage.
    AdmissionFairSharing: true, Beta, "0.15", [];
    /// An annotation gates the admission of a workload.
    AdmissionGatedBy: true, Beta, "0.19", [];
    /// Pods are labelled with their LocalQueue and ClusterQueue.
    AssignQueueLabelsForPods: true, Beta, "0.17", [];
    /// ProvisioningRequests of an evicted workload are deleted.
    CleanupProvisioningRequestsOnEviction: true, Beta, "0.19", [];
    /// One variant of a workload per flavor is pending at the same time.
    ConcurrentAdmission: false, Alpha, "0.18", [];
    /// Metrics carry labels from the metadata of objects.
    CustomMetricLabels: false, Alpha, "0.17", [];
    /// A deleted RayService keeps its workload until its Redis is cleaned up.
    DeferRayServiceFinalizationForRedisCleanup: true, Beta, "0.19", [];
    /// Disables waitForPodsReady, which is enabled by default since 0.19.
    DisableWaitForPodsReady: false, Alpha, "0.19", [];
    /// Elastic jobs scale through workload slices.
    ElasticJobsViaWorkloadSlices: true, Beta, "0.18", [];
    /// Elastic jobs together with topology-aware scheduling.
    ElasticJobsViaWorkloadSlicesWithTAS: false, Alpha, "0.17", [ElasticJobsViaWorkloadSlices, TopologyAwareScheduling];
    /// Pods that are stuck in termination are force deleted if their annotation permits it.
    FailureRecoveryPolicy: false, Alpha, "0.15", [];
    /// A ClusterQueue within its nominal quota preempts regardless of shares.
    FairSharingPreemptWithinNominal: true, Beta, "0.17", [];
    /// With fair sharing, workloads that do not borrow are ordered first.
    FairSharingPrioritizeNonBorrowing: true, Beta, "0.17", [];
    /// Quota of a pod is released when its deletion starts.
    FastQuotaReleaseInPodIntegration: false, Alpha, "0.17", [];
    /// Orphaned workloads are finished.
    FinishOrphanedWorkloads: true, Beta, "0.18", [];
    /// A ClusterQueue configures when to try the next flavor.
    FlavorFungibility: true, Beta, "0.5", [];
    /// Flavor assignment resumes at the next flavor even after quotas changed.
    FlavorFungibilityPreserveScanProgress: true, Beta, "0.20", [FlavorFungibility];
    /// Devices of dynamic resource allocation count towards quota.
    KueueDRAIntegration: true, Beta, "0.18", [];
    /// Shared devices count by the capacity they consume.
    KueueDRAIntegrationConsumableCapacity: false, Alpha, "0.19", [KueueDRAIntegration];
    /// Devices may be requested as extended resources.
    KueueDRAIntegrationExtendedResource: true, Beta, "0.19", [KueueDRAIntegration];
    /// Partitionable devices count by the counters they consume.
    KueueDRAIntegrationPartitionableDevices: true, Beta, "0.19", [KueueDRAIntegration];
    /// Without device support, workloads that request devices are rejected.
    KueueDRARejectWorkloadsWhenDRADisabled: true, Beta, "0.18", [];
    /// The group size of a managed LeaderWorkerSet cannot be changed.
    LWSImmutableGroupSize: true, Beta, "0.20", [];
    /// Metrics by LocalQueue.
    LocalQueueMetrics: true, Beta, "0.17", [];
    /// Jobs with a queue name are also managed in selected namespaces only.
    ManagedJobsNamespaceSelectorAlwaysRespected: true, GenerallyAvailable, "0.19", [];
    /// A metric of how long it takes to create a workload.
    MetricForWorkloadCreationLatency: true, Beta, "0.18", [];
    /// Metrics by Cohort.
    MetricsForCohorts: true, Beta, "0.18", [];
    /// Workloads are dispatched to worker clusters.
    MultiKueue: true, Beta, "0.9", [];
    /// External frameworks in worker clusters, by configuration.
    MultiKueueAdaptersForCustomJobs: true, Beta, "0.15", [];
    /// Access to worker clusters through ClusterProfiles.
    MultiKueueClusterProfile: false, Alpha, "0.15", [];
    /// The step of the incremental dispatcher is configurable.
    MultiKueueIncrementalDispatcherConfig: true, Beta, "0.19", [];
    /// The incremental dispatcher follows the order of the MultiKueueConfig.
    MultiKueueIncrementalDispatcherRespectConfigOrder: true, Beta, "0.19", [];
    /// Kubeconfig files must be in the configured directory.
    MultiKueueKubeConfigPathValidation: true, Beta, "0.20", [];
    /// The quota of the manager is the sum of that of the workers, if configured.
    MultiKueueManagerQuotaAutomation: false, Alpha, "0.18", [];
    /// The manager allows preemption in one worker at a time.
    MultiKueueOrchestratedPreemption: false, Alpha, "0.17", [];
    /// Changes of an admitted job are synced to the worker.
    MultiKueueRemoteSpecSync: true, Beta, "0.20", [];
    /// A workload may be admitted with fewer pods.
    PartialAdmission: true, Beta, "0.5", [];
    /// A pod group does not use a Workload that belongs to no pod group.
    PodIntegrationValidateGroupOwner: true, Beta, "0.18", [];
    /// Preemptors that wait for the eviction of their targets are ordered first.
    PrioritizePreemptorWorkloads: false, Alpha, "0.20", [];
    /// An annotation raises or lowers the priority of a workload.
    PriorityBoost: false, Alpha, "0.17", [];
    /// Priority orders the workloads of a cohort.
    PrioritySortingWithinCohort: true, Beta, "0.6", [];
    /// Resources without quota can be ignored by configuration.
    QuotaCheckStrategy: true, Beta, "0.19", [];
    /// Quota of finished pods is released while others run.
    ReclaimablePods: true, Beta, "0.15", [];
    /// The assignment is recomputed if preemption targets overlap with those of another workload of
    /// the cycle.
    RecomputeAssignmentUponPreemptionTargetsOverlap: true, Beta, "0.20", [];
    /// Updates of ClusterQueues with an unknown flavor in onFlavors are rejected, as creates are.
    RejectUpdatesToCQWithInvalidOnFlavors: false, Alpha, "0.18", [];
    /// Finalizers are removed with the resourceVersion as precondition.
    RemoveFinalizersWithStrictPatch: true, Beta, "0.17", [];
    /// Topology assignment by the scheduler library.
    SchedulerLibraryIntegration: false, Alpha, "0.19", [];
    /// Workloads equivalent to an inadmissible one become inadmissible without a scheduling
    /// attempt.
    SchedulingEquivalenceHashing: true, Beta, "0.18", [];
    /// Names of workloads have at most 63 characters.
    ShortWorkloadNames: false, Alpha, "0.17", [];
    /// A missing owner of an object that is being deleted is ignored.
    SkipAncestorCheckForDeletedWorkloads: true, Beta, "0.20", [];
    /// Workloads of single pods are not reassigned, as pods cannot move.
    SkipReassignmentForPodOwnedWorkloads: true, Beta, "0.19", [];
    /// SparkApplications are managed.
    SparkApplicationIntegration: false, Alpha, "0.17", [];
    /// Topology assignments are written by prefixes of host names.
    TASAssignmentsEncodingByHostnamePrefix: true, Beta, "0.19", [];
    /// Pods are spread evenly over the selected domains.
    TASBalancedPlacement: false, Alpha, "0.15", [TopologyAwareScheduling];
    /// Node matches are cached within a cycle (speed only).
    TASCacheNodeMatchResults: true, Beta, "0.19", [];
    /// The tree of domains is kept between cycles (speed only).
    TASCacheTopologyTree: true, Beta, "0.20", [];
    /// Remaining capacity is updated incrementally (performance only).
    TASCachingRemainingResources: true, Beta, "0.19", [];
    /// A failed node of a workload with a topology assignment is replaced.
    TASFailedNodeReplacement: true, Beta, "0.14", [TopologyAwareScheduling];
    /// A workload is evicted if the first attempt to replace its failed node fails.
    TASFailedNodeReplacementFailFast: true, Beta, "0.14", [TASFailedNodeReplacement, TopologyAwareScheduling];
    /// Flavors with common nodes account for each other's usage.
    TASHandleOverlappingFlavors: true, Beta, "0.18", [TopologyAwareScheduling];
    /// Slices with several layers.
    TASMultiLayerTopology: true, Beta, "0.19", [TopologyAwareScheduling];
    /// The placement algorithm depends on the topology request: required, preferred or
    /// unconstrained.
    TASProfileMixed: true, Beta, "0.15", [TopologyAwareScheduling];
    /// A topology assignment that no longer fits is recomputed in the same cycle.
    TASRecomputeAssignmentWithinSchedulingCycle: true, Beta, "0.19", [TopologyAwareScheduling];
    /// A node that is not ready for a fixed time counts as failed.
    TASReplaceNodeDueToNotReadyOverFixedTime: false, Deprecated, "0.19", [TASFailedNodeReplacement, TopologyAwareScheduling];
    /// A node with taints the pods do not tolerate counts as failed.
    TASReplaceNodeOnNodeTaints: true, Beta, "0.17", [TopologyAwareScheduling];
    /// A node that is not ready and whose pods terminate counts as failed.
    TASReplaceNodeOnPodTermination: true, Beta, "0.14", [TASFailedNodeReplacement, TopologyAwareScheduling];
    /// Preferred node affinity scores domains.
    TASRespectNodeAffinityPreferred: false, Alpha, "0.18", [TopologyAwareScheduling];
    /// Slice sizes of workloads are validated.
    TASValidateWorkloadSliceSize: true, Beta, "0.20", [];
    /// TLS versions, ciphers and curves are configurable.
    TLSOptions: true, GenerallyAvailable, "0.20", [];
    /// Pods can request a topology.
    TopologyAwareScheduling: true, Beta, "0.14", [];
    /// The conditions of a new workload are set on creation.
    UnadmittedWorkloadsExplicitStatus: false, Beta, "0.19", [UnadmittedWorkloadsObservability];
    /// Conditions of unadmitted workloads have granular reasons.
    UnadmittedWorkloadsObservability: true, Beta, "0.19", [];
    /// The queue label cannot be removed from a Ray or Spark job.
    ValidateRayAndSparkJobUpdates: true, Beta, "0.18", [];
    /// Requests are kept in vectors (speed only).
    VectorizedResourceRequests: true, Beta, "0.19", [];
    /// The visibility API is served.
    VisibilityOnDemand: true, Beta, "0.9", [];
    /// Group and workload names may be in annotations.
    WorkloadIdentifierAnnotations: true, Beta, "0.18", [];
    /// The WorkloadPriorityClass named default is the default class.
    WorkloadPriorityClassDefaulting: true, Beta, "0.20", [];
    /// Workloads are updated by merge patch, not by apply.
    WorkloadRequestUseMergePatch: false, Alpha, "0.14", [];
    /// Negative requests and limits are rejected.
    WorkloadValidateResourcesAreNonNegative: true, Beta, "0.20", [];
    /// Labels and annotations of pod templates are validated.
    WorkloadValidationForPodSetMetadata: true, Beta, "0.20", [];
}
