//! Reasons of requeues and of missing quota reservations.

use serde::{Deserialize, Serialize};

use kueue_lab_api::constants::quota_reserved as q;

/// The reason that an evaluated workload is requeued; decides whether it becomes active immediately
/// or inadmissible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequeueReason {
    /// No specific reason.
    #[default]
    Generic,
    /// It was nominated, but failed later in the cycle.
    FailedAfterNomination,
    /// The namespace selector of the ClusterQueue does not match.
    NamespaceMismatch,
    /// It requires preemption, but a preemption gate is closed.
    PreemptionGated,
    /// Its preemption targets have to terminate first.
    PendingPreemption,
    /// A less favorable variant has to terminate first.
    PendingMigration,
    /// Its preemptions failed.
    PreemptionFailed,
    /// It does not fit.
    NoFit,
    /// It requires preemption, but there are no candidates.
    PreemptionNoCandidates,
}

/// The reason of the QuotaReserved condition of a workload without quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuotaReservedReason {
    /// No flavor matches it.
    NoMatchingFlavor,
    /// Its requests exceed the maximum capacity.
    ExceedsMaxQuota,
    /// It waits for quota.
    WaitingForQuota,
    /// There is no topology assignment for its pods.
    TopologyPlacementFailed,
    /// Its preemption targets have to terminate first.
    WaitingForPreemptedWorkloads,
    /// The workload or its queue is misconfigured.
    Misconfigured,
    /// Its queue is stopped or inactive.
    Suspended,
    /// It is not evaluated yet.
    PendingEvaluation,
    /// The pods of admitted workloads have to become ready.
    WaitingForPodsReady,
    /// A gate blocks its admission.
    AdmissionGated,
}

impl QuotaReservedReason {
    /// The reason in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            QuotaReservedReason::NoMatchingFlavor => q::NO_MATCHING_FLAVOR,
            QuotaReservedReason::ExceedsMaxQuota => q::EXCEEDS_MAX_QUOTA,
            QuotaReservedReason::WaitingForQuota => q::WAITING_FOR_QUOTA,
            QuotaReservedReason::TopologyPlacementFailed => q::TOPOLOGY_PLACEMENT_FAILED,
            QuotaReservedReason::WaitingForPreemptedWorkloads => q::WAITING_FOR_PREEMPTED_WORKLOADS,
            QuotaReservedReason::Misconfigured => q::MISCONFIGURED,
            QuotaReservedReason::Suspended => q::SUSPENDED,
            QuotaReservedReason::PendingEvaluation => q::PENDING_EVALUATION,
            QuotaReservedReason::WaitingForPodsReady => q::WAITING_FOR_PODS_READY,
            QuotaReservedReason::AdmissionGated => q::ADMISSION_GATED,
        }
    }

    /// The severity of a reason. Among alternatives the least severe counts, among required parts
    /// the most severe.
    pub fn severity(reason: Option<QuotaReservedReason>) -> u8 {
        match reason {
            Some(QuotaReservedReason::NoMatchingFlavor) => 4,
            Some(QuotaReservedReason::ExceedsMaxQuota) => 3,
            Some(QuotaReservedReason::WaitingForQuota) => 2,
            Some(QuotaReservedReason::TopologyPlacementFailed) => 1,
            _ => 0,
        }
    }

    /// The more severe of two reasons, the first one among equals.
    pub(crate) fn most_severe(
        a: Option<QuotaReservedReason>,
        b: Option<QuotaReservedReason>,
    ) -> Option<QuotaReservedReason> {
        if Self::severity(a) >= Self::severity(b) {
            a
        } else {
            b
        }
    }
}
