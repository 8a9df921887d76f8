//! [`InadmissibleReason`]: why a workload that was evaluated is not admitted.

use serde::{Deserialize, Serialize};

use crate::{AssignmentError, FlavorReason};

/// Why a workload is not admitted: the message of its QuotaReserved condition as a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InadmissibleReason {
    /// The cause; none before it is evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<InadmissibleCause>,
    /// The evictions for its sake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evictions: Option<PendingEvictions>,
}

/// The cause for which a workload is not admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum InadmissibleCause {
    /// No flavors could be assigned to pod sets.
    NotAssigned {
        /// The pod sets that do not fit, in order.
        pod_sets: Vec<PodSetReasons>,
    },
    /// The assignment of flavors stopped with an error.
    AssignmentFailed {
        /// The pod set.
        pod_set: String,
        /// The error.
        error: AssignmentError,
    },
    /// An admission check failed.
    FailedAdmissionChecks,
    /// The LocalQueue does not exist.
    LocalQueueNotFound {
        /// Its name.
        name: String,
    },
    /// The LocalQueue is stopped.
    LocalQueueInactive {
        /// Its name.
        name: String,
    },
    /// The ClusterQueue of the LocalQueue does not exist.
    ClusterQueueNotFound {
        /// Its name.
        name: String,
    },
    /// The ClusterQueue is not in the cache of the cycle.
    ClusterQueueNotInCache {
        /// Its name.
        name: String,
    },
    /// The ClusterQueue is stopped or incomplete.
    ClusterQueueInactive {
        /// Its name.
        name: String,
    },
    /// The namespace does not exist.
    NamespaceNotFound {
        /// Its name.
        name: String,
    },
    /// The namespace selector of the ClusterQueue does not match.
    NamespaceMismatch,
    /// The namespace selector of the ClusterQueue is invalid.
    InvalidNamespaceSelector {
        /// The validation error.
        error: String,
    },
    /// Requests exceed limits.
    InvalidResources {
        /// The fields.
        errors: String,
    },
    /// Requests violate a LimitRange.
    LimitRange {
        /// The violations.
        errors: String,
    },
    /// spec.active is false.
    Deactivated,
    /// An annotation gates the admission.
    AdmissionGated {
        /// Its value.
        by: String,
    },
    /// It was not evaluated, because an equivalent workload did not fit.
    Bypassed,
    /// It is not evaluated yet.
    PendingEvaluation,
    /// A more favorable variant is admitted.
    MoreFavorableVariant,
    /// The target flavor is below the last acceptable one.
    BelowLastAcceptableFlavor,
    /// It requires preemption, and a preemption gate is closed.
    PreemptionGated,
    /// Another entry of the cycle preempts its targets.
    OverlappingTargets,
    /// It fits once the targets of another entry are preempted.
    DeferredFit,
    /// Another entry of the cycle took the quota.
    NoLongerFits,
    /// The pods of all admitted workloads have to become ready.
    WaitingForPodsReady,
    /// The admitted workload could not be added to the cache.
    NotCached {
        /// Namespace and name.
        workload: String,
    },
    /// A sentence that is not known.
    Other {
        /// The sentence.
        message: String,
    },
}

/// The reasons why a pod set does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSetReasons {
    /// The pod set.
    pub name: String,
    /// The reasons. Their order has no meaning; a message has them sorted as text.
    pub reasons: Vec<FlavorReason>,
}

/// The evictions for the sake of a workload. The number is that of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PendingEvictions {
    /// Targets are preempted.
    Preemption(usize),
    /// No target could be preempted; it is tried again.
    PreemptionFailed(usize),
    /// A less favorable variant is evicted.
    Migration,
}

impl From<InadmissibleCause> for InadmissibleReason {
    fn from(cause: InadmissibleCause) -> Self {
        InadmissibleReason {
            cause: Some(cause),
            evictions: None,
        }
    }
}
