//! Reasons of Events.

/// Event reasons.
pub mod event {
    /// Job: started.
    pub const STARTED: &str = "Started";
    /// Job: suspended on creation.
    pub const SUSPENDED: &str = "Suspended";
    /// Job: stopped.
    pub const STOPPED: &str = "Stopped";
    /// Workload: deleted.
    pub const DELETED: &str = "Deleted";
    /// Job: its Workload was created.
    pub const CREATED_WORKLOAD: &str = "CreatedWorkload";
    /// Job: its Workload was deleted.
    pub const DELETED_WORKLOAD: &str = "DeletedWorkload";
    /// Job: its Workload was updated.
    pub const UPDATED_WORKLOAD: &str = "UpdatedWorkload";
    /// Job: its Workload is declared finished.
    pub const FINISHED_WORKLOAD: &str = "FinishedWorkload";
    /// Job: its Workload cannot be constructed.
    pub const ERR_WORKLOAD_COMPOSE: &str = "ErrWorkloadCompose";
    /// Job or Workload: the state of an admission check changed.
    pub const UPDATED_ADMISSION_CHECK: &str = "UpdatedAdmissionCheck";
    /// Job: the chain of owners is too long.
    pub const JOB_NESTING_TOO_DEEP: &str = "JobNestingTooDeep";
    /// Job: its priority class does not exist.
    pub const WORKLOAD_PRIORITY_CLASS_NOT_FOUND: &str = "WorkloadPriorityClassNotFound";
    /// Job: the Workload of another owner has the name of its Workload.
    pub const WORKLOAD_NAME_CONFLICT: &str = "WorkloadNameConflict";
    /// Workload: quota was reserved.
    pub const QUOTA_RESERVED: &str = "QuotaReserved";
    /// Workload: admitted.
    pub const ADMITTED: &str = "Admitted";
    /// Workload: pending.
    pub const PENDING: &str = "Pending";
    /// Workload: evicted; followed by the reason.
    pub const EVICTED_DUE_TO: &str = "EvictedDueTo";
    /// Workload: preempted.
    pub const PREEMPTED: &str = "Preempted";
    /// Workload: it preempts another one.
    pub const PREEMPTED_WORKLOAD: &str = "PreemptedWorkload";
    /// Workload: an admission check was rejected.
    pub const ADMISSION_CHECK_REJECTED: &str = "AdmissionCheckRejected";
    /// Workload: the state of an admission check changed.
    pub const ADMISSION_CHECK_UPDATED: &str = "AdmissionCheckUpdated";
    /// Workload: the admission-gated-by annotation blocks admission.
    pub const ADMISSION_GATED: &str = "AdmissionGated";
    /// Workload: the admission-gated-by annotation was removed.
    pub const ADMISSION_GATE_CLEARED: &str = "AdmissionGateCleared";
    /// Workload: the second scheduling pass failed.
    pub const SECOND_PASS_FAILED: &str = "SecondPassFailed";
    /// Workload: its ProvisioningRequest was created.
    pub const PROVISIONING_REQUEST_CREATED: &str = "ProvisioningRequestCreated";
    /// Workload: an object for provisioning could not be created.
    pub const FAILED_CREATE: &str = "FailedCreate";
    /// Pod group: an excess pod was deleted.
    pub const EXCESS_POD_DELETED: &str = "ExcessPodDeleted";
    /// Pod group: its pods were added as owners of the Workload.
    pub const OWNER_REFERENCES_ADDED: &str = "OwnerReferencesAdded";
    /// MultiKueue: an Event of the worker cluster.
    pub const MULTI_KUEUE: &str = "MultiKueue";
    /// Pod: terminated because it cannot run on its node.
    pub const POD_TERMINATED_BY_KUEUE: &str = "PodTerminatedByKueue";
    /// Workload: a variant was created.
    pub const CREATED_VARIANT: &str = "CreatedVariant";
    /// Workload: a variant was deleted.
    pub const DELETED_VARIANT: &str = "DeletedVariant";
    /// Workload: a variant was activated.
    pub const ACTIVATED_VARIANT: &str = "ActivatedVariant";
    /// Workload: a variant was deactivated.
    pub const DEACTIVATED_VARIANT: &str = "DeactivatedVariant";
    /// Workload: the preemption gate of a variant was opened.
    pub const PREEMPTION_UNGATED_VARIANT: &str = "PreemptionUngatedVariant";
}
