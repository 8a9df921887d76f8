//! Why a workload goes back to its queue.

use serde::Serialize;

use kueue_lab_api::constants::quota_reserved as q;

/// Why a workload that was looked at goes back to its queue; decides whether it is tried again at
/// once or parked until something changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum RequeueReason {
    /// No particular reason.
    #[default]
    Generic,
    /// It was nominated, but did not get through the cycle.
    FailedAfterNomination,
    /// The ClusterQueue does not take its namespace.
    NamespaceMismatch,
    /// It would have to preempt, but may not.
    PreemptionGated,
    /// Its victims have to go first.
    PendingPreemption,
    /// Its less favourable variant has to go first.
    PendingMigration,
    /// Its victims could not be evicted.
    PreemptionFailed,
    /// It does not fit.
    NoFit,
    /// It would have to preempt, but there is nobody to preempt.
    PreemptionNoCandidates,
}

/// Why a workload holds no quota, as the reason of its QuotaReserved condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum QuotaReservedReason {
    /// No flavor suits it.
    NoMatchingFlavor,
    /// It asks for more than there will ever be.
    ExceedsMaxQuota,
    /// Quota has to become free.
    WaitingForQuota,
    /// Its pods have no place in the topology.
    TopologyPlacementFailed,
    /// Its victims have to go first.
    WaitingForPreemptedWorkloads,
    /// It or its queue is set up wrongly.
    Misconfigured,
    /// Its queue does not admit.
    Suspended,
    /// It has yet to be looked at.
    PendingEvaluation,
    /// The pods of others have to become ready.
    WaitingForPodsReady,
    /// A gate holds it back.
    AdmissionGated,
}

impl QuotaReservedReason {
    /// The reason on the wire.
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

    /// How far the reason is from admission. Between alternatives the nearest counts, among parts
    /// that are all needed the furthest.
    pub fn severity(reason: Option<QuotaReservedReason>) -> u8 {
        match reason {
            Some(QuotaReservedReason::NoMatchingFlavor) => 4,
            Some(QuotaReservedReason::ExceedsMaxQuota) => 3,
            Some(QuotaReservedReason::WaitingForQuota) => 2,
            Some(QuotaReservedReason::TopologyPlacementFailed) => 1,
            _ => 0,
        }
    }

    /// The further from admission of two, the first among equals.
    pub fn most_severe(
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
