//! Reasons of Events.

/// Event reasons that are not condition reasons too.
pub mod event {
    /// Job: started.
    pub const STARTED: &str = "Started";
    /// Job: suspended as it came in.
    pub const SUSPENDED: &str = "Suspended";
    /// Job: stopped.
    pub const STOPPED: &str = "Stopped";
    /// Workload: deleted.
    pub const DELETED: &str = "Deleted";
    /// Job: its Workload was created.
    pub const CREATED_WORKLOAD: &str = "CreatedWorkload";
    /// Job: its Workload was deleted.
    pub const DELETED_WORKLOAD: &str = "DeletedWorkload";
    /// Job: its Workload was brought up to date.
    pub const UPDATED_WORKLOAD: &str = "UpdatedWorkload";
    /// Job: its Workload is declared finished.
    pub const FINISHED_WORKLOAD: &str = "FinishedWorkload";
    /// Job: no Workload can be made of it.
    pub const ERR_WORKLOAD_COMPOSE: &str = "ErrWorkloadCompose";
    /// Job or Workload: a check's state changed.
    pub const UPDATED_ADMISSION_CHECK: &str = "UpdatedAdmissionCheck";
    /// Job: owned through too many levels.
    pub const JOB_NESTING_TOO_DEEP: &str = "JobNestingTooDeep";
    /// Job: its priority class does not exist.
    pub const WORKLOAD_PRIORITY_CLASS_NOT_FOUND: &str = "WorkloadPriorityClassNotFound";
    /// Job: another object's Workload has the name it needs.
    pub const WORKLOAD_NAME_CONFLICT: &str = "WorkloadNameConflict";
    /// Workload: holds quota.
    pub const QUOTA_RESERVED: &str = "QuotaReserved";
    /// Workload: admitted.
    pub const ADMITTED: &str = "Admitted";
    /// Workload: waits.
    pub const PENDING: &str = "Pending";
    /// Workload: evicted; followed by the reason.
    pub const EVICTED_DUE_TO: &str = "EvictedDueTo";
    /// Workload: preempted.
    pub const PREEMPTED: &str = "Preempted";
    /// Workload: preempts another one.
    pub const PREEMPTED_WORKLOAD: &str = "PreemptedWorkload";
    /// Workload: a check was rejected.
    pub const ADMISSION_CHECK_REJECTED: &str = "AdmissionCheckRejected";
    /// Workload: a check's state changed.
    pub const ADMISSION_CHECK_UPDATED: &str = "AdmissionCheckUpdated";
    /// Workload: an annotation holds it back.
    pub const ADMISSION_GATED: &str = "AdmissionGated";
    /// Workload: the annotation is gone.
    pub const ADMISSION_GATE_CLEARED: &str = "AdmissionGateCleared";
    /// Workload: its placement could not be made after provisioning.
    pub const SECOND_PASS_FAILED: &str = "SecondPassFailed";
    /// Workload: a ProvisioningRequest was made for it.
    pub const PROVISIONING_REQUEST_CREATED: &str = "ProvisioningRequestCreated";
    /// Something could not be created.
    pub const FAILED_CREATE: &str = "FailedCreate";
    /// Pod group: a pod too many was deleted.
    pub const EXCESS_POD_DELETED: &str = "ExcessPodDeleted";
    /// Pod group: its pods were made owners of the Workload.
    pub const OWNER_REFERENCES_ADDED: &str = "OwnerReferencesAdded";
    /// MultiKueue: an Event of the worker cluster.
    pub const MULTI_KUEUE: &str = "MultiKueue";
    /// Pod: finished off because it cannot run on its node.
    pub const POD_TERMINATED_BY_KUEUE: &str = "PodTerminatedByKueue";
    /// Pod: finished off because it was stuck in termination.
    pub const KUEUE_FORCEFULLY_DELETED: &str = "KueueForcefullyDeleted";
    /// Workload: a variant was made.
    pub const CREATED_VARIANT: &str = "CreatedVariant";
    /// Workload: a variant was deleted.
    pub const DELETED_VARIANT: &str = "DeletedVariant";
    /// Workload: a variant was activated.
    pub const ACTIVATED_VARIANT: &str = "ActivatedVariant";
    /// Workload: a variant was deactivated.
    pub const DEACTIVATED_VARIANT: &str = "DeactivatedVariant";
    /// Workload: a variant may preempt.
    pub const PREEMPTION_UNGATED_VARIANT: &str = "PreemptionUngatedVariant";
}
