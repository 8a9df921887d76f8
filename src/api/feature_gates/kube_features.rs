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
    /// LocalQueues of a ClusterQueue are ordered by their past usage.
    AdmissionFairSharing: true, Beta, "0.15", [];
    /// An annotation gates the admission of a workload.
    AdmissionGatedBy: true, Beta, "0.19", [];
    /// Pods are labelled with their LocalQueue and ClusterQueue.
    AssignQueueLabelsForPods: true, Beta, "0.17", [];
    /// ProvisioningRequests of an evicted workload are deleted.
    CleanupProvisioningRequestsOnEviction: true, Beta, "0.19", [];
    /// A workload may wait for several flavors at once.
    ConcurrentAdmission: false, Alpha, "0.18", [];
    /// Metrics carry labels from the metadata of objects.
    CustomMetricLabels: false, Alpha, "0.17", [];
    /// A deleted RayService keeps its workload until its Redis is cleaned up.
    DeferRayServiceFinalizationForRedisCleanup: true, Beta, "0.19", [];
    /// Turns waitForPodsReady off, which is on by default since 0.19.
    DisableWaitForPodsReady: false, Alpha, "0.19", [];
    /// Jobs may grow and shrink through workload slices.
    ElasticJobsViaWorkloadSlices: true, Beta, "0.18", [];
    /// Elastic jobs together with topology-aware scheduling.
    ElasticJobsViaWorkloadSlicesWithTAS: false, Alpha, "0.17", [ElasticJobsViaWorkloadSlices, TopologyAwareScheduling];
    /// Pods stuck in termination are force deleted where they allow it.
    FailureRecoveryPolicy: false, Alpha, "0.15", [];
    /// Within its nominal quota a queue preempts without regard to shares.
    FairSharingPreemptWithinNominal: true, Beta, "0.17", [];
    /// Under fair sharing, workloads that do not borrow go first.
    FairSharingPrioritizeNonBorrowing: true, Beta, "0.17", [];
    /// Quota of a pod is released when its deletion starts.
    FastQuotaReleaseInPodIntegration: false, Alpha, "0.17", [];
    /// Workloads whose owner is gone are finished.
    FinishOrphanedWorkloads: true, Beta, "0.18", [];
    /// A ClusterQueue configures when to try the next flavor.
    FlavorFungibility: true, Beta, "0.5", [];
    /// Flavor assignment resumes at the next flavor even after quotas changed.
    FlavorFungibilityPreserveScanProgress: true, Beta, "0.20", [FlavorFungibility];
    /// Devices of dynamic resource allocation count towards quota.
    KueueDRAIntegration: true, Beta, "0.18", [];
    /// Quota by the capacity taken of shared devices.
    KueueDRAIntegrationConsumableCapacity: false, Alpha, "0.19", [KueueDRAIntegration];
    /// Devices may be requested as extended resources.
    KueueDRAIntegrationExtendedResource: true, Beta, "0.19", [KueueDRAIntegration];
    /// Quota by the counters of partitionable devices.
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
    /// Workloads may run in other clusters.
    MultiKueue: true, Beta, "0.9", [];
    /// Other kinds of jobs in other clusters, by configuration.
    MultiKueueAdaptersForCustomJobs: true, Beta, "0.15", [];
    /// Access to clusters through ClusterProfiles.
    MultiKueueClusterProfile: false, Alpha, "0.15", [];
    /// The step of the incremental dispatcher is configurable.
    MultiKueueIncrementalDispatcherConfig: true, Beta, "0.19", [];
    /// The incremental dispatcher follows the order of the MultiKueueConfig.
    MultiKueueIncrementalDispatcherRespectConfigOrder: true, Beta, "0.19", [];
    /// Kubeconfig files must be in the configured directory.
    MultiKueueKubeConfigPathValidation: true, Beta, "0.20", [];
    /// The manager's quotas may follow those of the workers.
    MultiKueueManagerQuotaAutomation: false, Alpha, "0.18", [];
    /// The manager allows preemption in one worker at a time.
    MultiKueueOrchestratedPreemption: false, Alpha, "0.17", [];
    /// Changes of an admitted job are synced to the worker.
    MultiKueueRemoteSpecSync: true, Beta, "0.20", [];
    /// A workload may be admitted with fewer pods.
    PartialAdmission: true, Beta, "0.5", [];
    /// A pod group does not use a Workload that belongs to no pod group.
    PodIntegrationValidateGroupOwner: true, Beta, "0.18", [];
    /// Preemptors that wait for the eviction of their targets go first.
    PrioritizePreemptorWorkloads: false, Alpha, "0.20", [];
    /// An annotation raises or lowers the priority of a workload.
    PriorityBoost: false, Alpha, "0.17", [];
    /// Priority decides among the queues of a cohort.
    PrioritySortingWithinCohort: true, Beta, "0.6", [];
    /// Resources without quota can be ignored by configuration.
    QuotaCheckStrategy: true, Beta, "0.19", [];
    /// Quota of finished pods is released while others run.
    ReclaimablePods: true, Beta, "0.15", [];
    /// Preemption targets are recomputed if another workload of the cycle has them.
    RecomputeAssignmentUponPreemptionTargetsOverlap: true, Beta, "0.20", [];
    /// Updates too are refused when onFlavors names a flavor the queue has not.
    RejectUpdatesToCQWithInvalidOnFlavors: false, Alpha, "0.18", [];
    /// Finalizers are removed with a check of the resource version.
    RemoveFinalizersWithStrictPatch: true, Beta, "0.17", [];
    /// Placement by the scheduler library.
    SchedulerLibraryIntegration: false, Alpha, "0.19", [];
    /// Workloads equivalent to an inadmissible one become inadmissible without a scheduling attempt.
    SchedulingEquivalenceHashing: true, Beta, "0.18", [];
    /// Names of workloads have at most 63 characters.
    ShortWorkloadNames: false, Alpha, "0.17", [];
    /// A missing owner does not matter for objects that are being deleted.
    SkipAncestorCheckForDeletedWorkloads: true, Beta, "0.20", [];
    /// Workloads of single pods are not reassigned, as pods cannot move.
    SkipReassignmentForPodOwnedWorkloads: true, Beta, "0.19", [];
    /// SparkApplications are managed.
    SparkApplicationIntegration: false, Alpha, "0.17", [];
    /// Topology assignments are written by prefixes of host names.
    TASAssignmentsEncodingByHostnamePrefix: true, Beta, "0.19", [];
    /// Pods are spread evenly over the domains chosen.
    TASBalancedPlacement: false, Alpha, "0.15", [TopologyAwareScheduling];
    /// Node matches are cached within a cycle (speed only).
    TASCacheNodeMatchResults: true, Beta, "0.19", [];
    /// The tree of domains is kept between cycles (speed only).
    TASCacheTopologyTree: true, Beta, "0.20", [];
    /// Remaining capacity is kept up to date (speed only).
    TASCachingRemainingResources: true, Beta, "0.19", [];
    /// A failed node of a placed workload is replaced.
    TASFailedNodeReplacement: true, Beta, "0.14", [TopologyAwareScheduling];
    /// When the first try to replace a node fails the workload is evicted.
    TASFailedNodeReplacementFailFast: true, Beta, "0.14", [TASFailedNodeReplacement, TopologyAwareScheduling];
    /// Flavors on the same hosts share their usage.
    TASHandleOverlappingFlavors: true, Beta, "0.18", [TopologyAwareScheduling];
    /// Slices within slices.
    TASMultiLayerTopology: true, Beta, "0.19", [TopologyAwareScheduling];
    /// The placement algorithm depends on how strict the request is.
    TASProfileMixed: true, Beta, "0.15", [TopologyAwareScheduling];
    /// A placement that no longer fits is recomputed in the same cycle.
    TASRecomputeAssignmentWithinSchedulingCycle: true, Beta, "0.19", [TopologyAwareScheduling];
    /// A node that is not ready for a fixed time counts as failed.
    TASReplaceNodeDueToNotReadyOverFixedTime: false, Deprecated, "0.19", [TASFailedNodeReplacement, TopologyAwareScheduling];
    /// A node with taints the pods do not tolerate counts as failed.
    TASReplaceNodeOnNodeTaints: true, Beta, "0.17", [TopologyAwareScheduling];
    /// A node that is not ready and whose pods end counts as failed.
    TASReplaceNodeOnPodTermination: true, Beta, "0.14", [TASFailedNodeReplacement, TopologyAwareScheduling];
    /// Preferred node affinity weighs in the placement.
    TASRespectNodeAffinityPreferred: false, Alpha, "0.18", [TopologyAwareScheduling];
    /// Slice sizes in workloads are checked.
    TASValidateWorkloadSliceSize: true, Beta, "0.20", [];
    /// TLS versions, ciphers and curves are configurable.
    TLSOptions: true, GenerallyAvailable, "0.20", [];
    /// Pods can request a topology.
    TopologyAwareScheduling: true, Beta, "0.14", [];
    /// New workloads get their conditions at once.
    UnadmittedWorkloadsExplicitStatus: false, Beta, "0.19", [UnadmittedWorkloadsObservability];
    /// Conditions state why a workload is not admitted in more detail.
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
    /// Negative requests and limits are refused.
    WorkloadValidateResourcesAreNonNegative: true, Beta, "0.20", [];
    /// Labels and annotations of pod templates are checked.
    WorkloadValidationForPodSetMetadata: true, Beta, "0.20", [];
}
