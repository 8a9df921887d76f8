//! Condition types and their reasons.

/// Condition of ClusterQueues, LocalQueues, AdmissionChecks and MultiKueueClusters.
pub const ACTIVE: &str = "Active";
/// Condition of a ClusterQueue with automated quota from worker clusters.
pub const MULTI_KUEUE_MANAGER_QUOTA_AUTOMATION: &str = "MultiKueueManagerQuotaAutomation";

/// Reasons of Active of ClusterQueues, and of other kinds where stated.
pub mod active {
    /// The queue is active.
    pub const READY: &str = "Ready";
    /// The queue is being deleted.
    pub const TERMINATING: &str = "Terminating";
    /// The queue is stopped by its stop policy.
    pub const STOPPED: &str = "Stopped";
    /// A ResourceFlavor does not exist.
    pub const FLAVOR_NOT_FOUND: &str = "FlavorNotFound";
    /// An AdmissionCheck does not exist.
    pub const ADMISSION_CHECK_NOT_FOUND: &str = "AdmissionCheckNotFound";
    /// An AdmissionCheck is not active.
    pub const ADMISSION_CHECK_INACTIVE: &str = "AdmissionCheckInactive";
    /// More than one MultiKueue check.
    pub const MULTIPLE_MULTI_KUEUE_ADMISSION_CHECKS: &str = "MultipleMultiKueueAdmissionChecks";
    /// A MultiKueue check for some flavors only.
    pub const MULTI_KUEUE_ADMISSION_CHECK_APPLIED_PER_FLAVOR: &str =
        "MultiKueueAdmissionCheckAppliedPerFlavor";
    /// A MultiKueue check together with a provisioning check.
    pub const MULTI_KUEUE_WITH_PROVISIONING_REQUEST: &str = "MultiKueueWithProvisioningRequest";
    /// A Topology does not exist.
    pub const TOPOLOGY_NOT_FOUND: &str = "TopologyNotFound";
    /// None of the other reasons.
    pub const UNKNOWN: &str = "Unknown";
    /// The queue is not in the cache.
    pub const NOT_FOUND: &str = "NotFound";
    /// LocalQueue: the ClusterQueue is not active.
    pub const CLUSTER_QUEUE_IS_INACTIVE: &str = "ClusterQueueIsInactive";
    /// LocalQueue: the ClusterQueue does not exist.
    pub const CLUSTER_QUEUE_DOES_NOT_EXIST: &str = "ClusterQueueDoesNotExist";
    /// AdmissionCheck: its parameters are not a valid reference.
    pub const BAD_PARAMETERS_REF: &str = "BadParametersRef";
    /// MultiKueue AdmissionCheck: no cluster is active.
    pub const NO_USABLE_CLUSTERS: &str = "NoUsableClusters";
    /// MultiKueue AdmissionCheck: only some clusters are active.
    pub const SOME_ACTIVE_CLUSTERS: &str = "SomeActiveClusters";
}

/// Workload: quota is reserved. Also the reason when it is true.
pub const QUOTA_RESERVED: &str = "QuotaReserved";
/// Workload: quota is reserved and all checks are ready. Also the reason when it is true.
pub const ADMITTED: &str = "Admitted";
/// Workload: the job is finished.
pub const FINISHED: &str = "Finished";
/// Workload: all pods are ready or succeeded.
pub const PODS_READY: &str = "PodsReady";
/// Workload: it is evicted.
pub const EVICTED: &str = "Evicted";
/// Workload: it is preempted by another workload. Also the reason of Evicted.
pub const PREEMPTED: &str = "Preempted";
/// Workload: requeued after an eviction.
pub const REQUEUED: &str = "Requeued";
/// Workload: it will be deactivated.
pub const DEACTIVATION_TARGET: &str = "DeactivationTarget";
/// Workload of a pod group: some of the group's pods are missing.
pub const WAITING_FOR_REPLACEMENT_PODS: &str = "WaitingForReplacementPods";
/// Workload: a gate blocks its preemption.
pub const BLOCKED_ON_PREEMPTION_GATES: &str = "BlockedOnPreemptionGates";
/// Reason of [`BLOCKED_ON_PREEMPTION_GATES`].
pub const PREEMPTION_GATED: &str = "PreemptionGated";

/// Reasons of QuotaReserved being false.
pub mod quota_reserved {
    /// No flavor matches the pods.
    pub const NO_MATCHING_FLAVOR: &str = "NoMatchingFlavor";
    /// Not enough quota is unused.
    pub const WAITING_FOR_QUOTA: &str = "WaitingForQuota";
    /// The request exceeds the maximum quota.
    pub const EXCEEDS_MAX_QUOTA: &str = "ExceedsMaxQuota";
    /// No topology domain fits.
    pub const TOPOLOGY_PLACEMENT_FAILED: &str = "TopologyPlacementFailed";
    /// The eviction of preempted workloads is not complete.
    pub const WAITING_FOR_PREEMPTED_WORKLOADS: &str = "WaitingForPreemptedWorkloads";
    /// The LocalQueue or the ClusterQueue is missing, or the workload is invalid.
    pub const MISCONFIGURED: &str = "Misconfigured";
    /// The LocalQueue or the ClusterQueue is stopped.
    pub const SUSPENDED: &str = "Suspended";
    /// Not nominated yet.
    pub const PENDING_EVALUATION: &str = "PendingEvaluation";
    /// Admission is blocked until other workloads' pods are ready.
    pub const WAITING_FOR_PODS_READY: &str = "WaitingForPodsReady";
    /// The LocalQueue or the ClusterQueue is missing or inactive.
    pub const INADMISSIBLE: &str = "Inadmissible";
    /// The job is on hold: the reservation was released, and the workload is not requeued.
    pub const ON_HOLD: &str = "OnHold";
    /// The legacy reason of pending workloads.
    pub const PENDING: &str = "Pending";
    /// The legacy reason of [`WAITING_FOR_PODS_READY`].
    pub const WAITING: &str = "Waiting";
    /// The admission-gated-by annotation blocks admission.
    pub const ADMISSION_GATED: &str = "AdmissionGated";
}

/// Reasons of Admitted being false.
pub mod admitted {
    /// No quota reserved.
    pub const NO_RESERVATION: &str = "NoReservation";
    /// Some check is not ready.
    pub const UNSATISFIED_ADMISSION_CHECKS: &str = "UnsatisfiedAdmissionChecks";
    /// A delayed topology request is pending.
    pub const PENDING_DELAYED_TOPOLOGY_REQUESTS: &str = "PendingDelayedTopologyRequests";
    /// The legacy reason of checks that are not ready.
    pub const UNSATISFIED_CHECKS: &str = "UnsatisfiedChecks";
    /// The legacy reason without a reservation and with checks that are not ready.
    pub const NO_RESERVATION_UNSATISFIED_CHECKS: &str = "NoReservationUnsatisfiedChecks";
}

/// Reasons of Preempted.
pub mod preempted {
    /// Prioritization in the ClusterQueue.
    pub const IN_CLUSTER_QUEUE: &str = "InClusterQueue";
    /// Reclamation of nominal quota within the cohort.
    pub const IN_COHORT_RECLAMATION: &str = "InCohortReclamation";
    /// Fair sharing within the cohort.
    pub const IN_COHORT_FAIR_SHARING: &str = "InCohortFairSharing";
    /// Reclamation within the cohort by a workload that borrows.
    pub const IN_COHORT_RECLAIM_WHILE_BORROWING: &str = "InCohortReclaimWhileBorrowing";
}

/// Reasons of Evicted, and of Requeued after an eviction.
pub mod evicted {
    /// The workload was preempted.
    pub const PREEMPTED: &str = "Preempted";
    /// Migration to a more favorable flavor.
    pub const FLAVOR_MIGRATION: &str = "FlavorMigration";
    /// Pods were not ready in time.
    pub const PODS_READY_TIMEOUT: &str = "PodsReadyTimeout";
    /// An admission check is in state Retry or Rejected.
    pub const ADMISSION_CHECK: &str = "AdmissionCheck";
    /// The ClusterQueue was stopped.
    pub const CLUSTER_QUEUE_STOPPED: &str = "ClusterQueueStopped";
    /// The LocalQueue was stopped.
    pub const LOCAL_QUEUE_STOPPED: &str = "LocalQueueStopped";
    /// Failed nodes were not replaced.
    pub const NODE_FAILURES: &str = "NodeFailures";
    /// The workload was evicted on the manager cluster.
    pub const ON_MANAGER_CLUSTER: &str = "EvictedOnManagerCluster";
    /// The workload slice was replaced by a new one.
    pub const WORKLOAD_SLICE_REPLACED: &str = "WorkloadSliceReplaced";
    /// `spec.active` is false.
    pub const DEACTIVATED: &str = "Deactivated";
}

/// Underlying causes of a deactivation, which are appended to the reason of the eviction.
pub mod deactivation {
    /// An admission check was rejected.
    pub const ADMISSION_CHECK: &str = "AdmissionCheck";
    /// The limit of requeues was exceeded.
    pub const REQUEUING_LIMIT_EXCEEDED: &str = "RequeuingLimitExceeded";
    /// The maximum execution time was exceeded.
    pub const MAXIMUM_EXECUTION_TIME_EXCEEDED: &str = "MaximumExecutionTimeExceeded";
}

/// Reasons of Requeued being true.
pub mod requeued {
    /// `spec.active` is true again.
    pub const REACTIVATED: &str = "Reactivated";
    /// The requeue backoff has elapsed.
    pub const BACKOFF_FINISHED: &str = "BackoffFinished";
    /// The ClusterQueue was restarted.
    pub const CLUSTER_QUEUE_RESTARTED: &str = "ClusterQueueRestarted";
    /// The LocalQueue was restarted.
    pub const LOCAL_QUEUE_RESTARTED: &str = "LocalQueueRestarted";
}

/// Reasons of PodsReady.
pub mod pods_ready {
    /// The pods are not ready for the first time since admission.
    pub const WAIT_FOR_START: &str = "WaitForStart";
    /// A pod failed after all pods were ready.
    pub const WAIT_FOR_RECOVERY: &str = "WaitForRecovery";
    /// All pods are ready for the first time since admission.
    pub const STARTED: &str = "Started";
    /// All pods are ready again.
    pub const RECOVERED: &str = "Recovered";
}

/// Reasons of Finished.
pub mod finished {
    /// The job succeeded.
    pub const SUCCEEDED: &str = "Succeeded";
    /// The job failed.
    pub const FAILED: &str = "Failed";
    /// The prebuilt Workload does not match the job.
    pub const OUT_OF_SYNC: &str = "OutOfSync";
    /// The owner of the Workload does not exist.
    pub const OWNER_NOT_FOUND: &str = "OwnerNotFound";
    /// The job could not be started.
    pub const FAILED_TO_START: &str = "FailedToStart";
    /// The workload slice was replaced by a new one.
    pub const WORKLOAD_SLICE_REPLACED: &str = "WorkloadSliceReplaced";
}

/// Condition of pods that Kueue deletes.
pub const TERMINATION_TARGET: &str = "TerminationTarget";

/// Reasons that a job is stopped, of [`TERMINATION_TARGET`].
pub mod stop {
    /// The Workload was deleted.
    pub const WORKLOAD_DELETED: &str = "WorkloadDeleted";
    /// The Workload was evicted; on pods followed by `DueTo` and the reason.
    pub const WORKLOAD_EVICTED: &str = "WorkloadEvicted";
    /// No Workload matches the job.
    pub const NO_MATCHING_WORKLOAD: &str = "NoMatchingWorkload";
    /// The Workload is not admitted.
    pub const NOT_ADMITTED: &str = "NotAdmitted";
}
