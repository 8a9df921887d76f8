//! Condition types and their reasons.

/// Condition of ClusterQueues, LocalQueues, AdmissionChecks and MultiKueueClusters.
pub const ACTIVE: &str = "Active";
/// Condition of a ClusterQueue with automated quota from worker clusters.
pub const MULTI_KUEUE_MANAGER_QUOTA_AUTOMATION: &str = "MultiKueueManagerQuotaAutomation";

/// ClusterQueue Active reasons, LocalQueue Active reasons where they fit.
pub mod active {
    /// The queue is active.
    pub const READY: &str = "Ready";
    /// The queue is being deleted.
    pub const TERMINATING: &str = "Terminating";
    /// The stop policy stops it.
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
    /// None of the known reasons.
    pub const UNKNOWN: &str = "Unknown";
    /// The queue is not known to the controller.
    pub const NOT_FOUND: &str = "NotFound";
    /// LocalQueue: the ClusterQueue is not active.
    pub const CLUSTER_QUEUE_IS_INACTIVE: &str = "ClusterQueueIsInactive";
    /// LocalQueue: the ClusterQueue does not exist.
    pub const CLUSTER_QUEUE_DOES_NOT_EXIST: &str = "ClusterQueueDoesNotExist";
    /// AdmissionCheck: its parameters are not a valid reference.
    pub const BAD_PARAMETERS_REF: &str = "BadParametersRef";
    /// MultiKueue AdmissionCheck: its config names clusters that do not exist.
    pub const BAD_CONFIG: &str = "BadConfig";
    /// MultiKueue AdmissionCheck: no cluster can be used.
    pub const NO_USABLE_CLUSTERS: &str = "NoUsableClusters";
    /// MultiKueue AdmissionCheck: some clusters can be used.
    pub const SOME_ACTIVE_CLUSTERS: &str = "SomeActiveClusters";
}

/// Workload: quota is reserved. Also the reason when it is true.
pub const QUOTA_RESERVED: &str = "QuotaReserved";
/// Workload: quota is reserved and all checks are ready. Also the reason when it is true.
pub const ADMITTED: &str = "Admitted";
/// Workload: the job has ended.
pub const FINISHED: &str = "Finished";
/// Workload: all pods are ready or done.
pub const PODS_READY: &str = "PodsReady";
/// Workload: lost its admission.
pub const EVICTED: &str = "Evicted";
/// Workload: lost its admission to another workload. Also the reason of Evicted then.
pub const PREEMPTED: &str = "Preempted";
/// Workload: requeued after an eviction.
pub const REQUEUED: &str = "Requeued";
/// Workload: is about to be deactivated.
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
    /// LocalQueue or ClusterQueue missing, and the like.
    pub const MISCONFIGURED: &str = "Misconfigured";
    /// LocalQueue or ClusterQueue stopped.
    pub const SUSPENDED: &str = "Suspended";
    /// Not nominated yet.
    pub const PENDING_EVALUATION: &str = "PendingEvaluation";
    /// Admission is blocked until other workloads' pods are ready.
    pub const WAITING_FOR_PODS_READY: &str = "WaitingForPodsReady";
    /// LocalQueue or ClusterQueue missing or inactive.
    pub const INADMISSIBLE: &str = "Inadmissible";
    /// The reservation was released on purpose; the workload is not requeued.
    pub const ON_HOLD: &str = "OnHold";
    /// The older reason for all pending workloads.
    pub const PENDING: &str = "Pending";
    /// The older reason for waiting for other workloads' pods.
    pub const WAITING: &str = "Waiting";
    /// An admission-gated-by annotation gates it.
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
    /// The older reason for checks that are not ready.
    pub const UNSATISFIED_CHECKS: &str = "UnsatisfiedChecks";
    /// The older reason for neither quota nor checks.
    pub const NO_RESERVATION_UNSATISFIED_CHECKS: &str = "NoReservationUnsatisfiedChecks";
}

/// Reasons of Preempted.
pub mod preempted {
    /// For a workload of the same ClusterQueue.
    pub const IN_CLUSTER_QUEUE: &str = "InClusterQueue";
    /// To give quota back to its owner.
    pub const IN_COHORT_RECLAMATION: &str = "InCohortReclamation";
    /// For a fairer share.
    pub const IN_COHORT_FAIR_SHARING: &str = "InCohortFairSharing";
    /// For a workload of higher priority that borrows.
    pub const IN_COHORT_RECLAIM_WHILE_BORROWING: &str = "InCohortReclaimWhileBorrowing";
}

/// Reasons of Evicted, and of Requeued where an eviction ends.
pub mod evicted {
    /// Another workload needed the quota.
    pub const PREEMPTED: &str = "Preempted";
    /// A better flavor opened.
    pub const FLAVOR_MIGRATION: &str = "FlavorMigration";
    /// Pods were not ready in time.
    pub const PODS_READY_TIMEOUT: &str = "PodsReadyTimeout";
    /// A check asked for it.
    pub const ADMISSION_CHECK: &str = "AdmissionCheck";
    /// The ClusterQueue was stopped.
    pub const CLUSTER_QUEUE_STOPPED: &str = "ClusterQueueStopped";
    /// The LocalQueue was stopped.
    pub const LOCAL_QUEUE_STOPPED: &str = "LocalQueueStopped";
    /// Nodes failed and were not replaced.
    pub const NODE_FAILURES: &str = "NodeFailures";
    /// The manager cluster evicted it.
    pub const ON_MANAGER_CLUSTER: &str = "EvictedOnManagerCluster";
    /// Replaced by a new slice.
    pub const WORKLOAD_SLICE_REPLACED: &str = "WorkloadSliceReplaced";
    /// `spec.active` is false.
    pub const DEACTIVATED: &str = "Deactivated";
}

/// Causes behind an eviction for deactivation, appended to its reason.
pub mod deactivation {
    /// A check was rejected.
    pub const ADMISSION_CHECK: &str = "AdmissionCheck";
    /// Queued again too often.
    pub const REQUEUING_LIMIT_EXCEEDED: &str = "RequeuingLimitExceeded";
    /// Admitted for too long.
    pub const MAXIMUM_EXECUTION_TIME_EXCEEDED: &str = "MaximumExecutionTimeExceeded";
}

/// Reasons of Requeued being true.
pub mod requeued {
    /// `spec.active` is true again.
    pub const REACTIVATED: &str = "Reactivated";
    /// The waiting time is over.
    pub const BACKOFF_FINISHED: &str = "BackoffFinished";
    /// The ClusterQueue runs again.
    pub const CLUSTER_QUEUE_RESTARTED: &str = "ClusterQueueRestarted";
    /// The LocalQueue runs again.
    pub const LOCAL_QUEUE_RESTARTED: &str = "LocalQueueRestarted";
}

/// Reasons of PodsReady.
pub mod pods_ready {
    /// Not yet, since admission.
    pub const WAIT_FOR_START: &str = "WaitForStart";
    /// No longer.
    pub const WAIT_FOR_RECOVERY: &str = "WaitForRecovery";
    /// For the first time.
    pub const STARTED: &str = "Started";
    /// Again.
    pub const RECOVERED: &str = "Recovered";
}

/// Reasons of Finished.
pub mod finished {
    /// The job succeeded.
    pub const SUCCEEDED: &str = "Succeeded";
    /// The job failed.
    pub const FAILED: &str = "Failed";
    /// The workload made beforehand does not fit the job.
    pub const OUT_OF_SYNC: &str = "OutOfSync";
    /// The job is gone.
    pub const OWNER_NOT_FOUND: &str = "OwnerNotFound";
    /// The job could not be started.
    pub const FAILED_TO_START: &str = "FailedToStart";
    /// Replaced by a new slice.
    pub const WORKLOAD_SLICE_REPLACED: &str = "WorkloadSliceReplaced";
}

/// Pod condition on a pod that Kueue is about to delete.
pub const TERMINATION_TARGET: &str = "TerminationTarget";

/// Why a job is stopped; reasons of [`TERMINATION_TARGET`].
pub mod stop {
    /// The Workload is gone.
    pub const WORKLOAD_DELETED: &str = "WorkloadDeleted";
    /// The Workload was evicted; on pods followed by `DueTo` and the reason.
    pub const WORKLOAD_EVICTED: &str = "WorkloadEvicted";
    /// No Workload is like the job.
    pub const NO_MATCHING_WORKLOAD: &str = "NoMatchingWorkload";
    /// The Workload is not admitted.
    pub const NOT_ADMITTED: &str = "NotAdmitted";
}
