//! [`PendingReason`]: why a pending workload is not admitted, and whether it can be.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::resources::{Amount, FlavorName, ResourceName};
use crate::{
    FlavorReason, InadmissibleCause, InadmissibleState, PreemptionShortageReason, TasFailure,
};

/// Why a pending workload is not admitted: why no cycle evaluates it, or what it lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum PendingReason {
    /// It names no LocalQueue.
    NoQueueName,
    /// spec.active is false.
    Deactivated,
    /// Its LocalQueue does not exist.
    LocalQueueNotFound {
        /// The LocalQueue.
        name: String,
    },
    /// Its LocalQueue is stopped.
    LocalQueueInactive {
        /// The LocalQueue.
        name: String,
    },
    /// The ClusterQueue of its LocalQueue does not exist.
    ClusterQueueNotFound {
        /// The ClusterQueue.
        name: String,
    },
    /// Its ClusterQueue is stopped or incomplete.
    ClusterQueueInactive {
        /// The ClusterQueue.
        name: String,
        /// Why it is inactive; empty if that is unknown.
        reasons: Vec<String>,
    },
    /// It is inadmissible regardless of quota.
    Inadmissible {
        /// The cause.
        cause: InadmissibleCause,
    },
    /// Its admission is gated.
    AdmissionGated {
        /// By whom.
        by: String,
    },
    /// It requires preemption, and a preemption gate is closed.
    PreemptionGated,
    /// Its job is on hold.
    OnHold,
    /// Pods that failed have to be replaced.
    WaitingForReplacementPods,
    /// It was evicted, and is requeued later.
    RequeueBackoff {
        /// The time at which it is requeued.
        until: Timestamp,
    },
    /// Its condition Requeued is False, for a reason that Kueue does not change.
    NotRequeued {
        /// The reason of the condition.
        reason: String,
    },
    /// It never fits, even without any usage.
    NeverFits {
        /// The pod set, if there are several.
        #[serde(skip_serializing_if = "Option::is_none")]
        pod_set: Option<String>,
        /// One for each flavor of a resource group, or the resource without a group.
        reasons: Vec<PermanentReason>,
    },
    /// It fits.
    Fits {
        /// The workloads before it in its queue.
        #[serde(skip_serializing_if = "Option::is_none")]
        behind: Option<WorkloadsAhead>,
    },
    /// It would fit now, but no cycle evaluates it until an event requeues it.
    AwaitsRequeue {
        /// Since when, and which events.
        inadmissible: InadmissibleState,
        /// The workloads before it in its queue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<WorkloadsAhead>,
    },
    /// It fits once preempted workloads release their quota.
    DeferredFit,
    /// It has to preempt others.
    NeedsPreemption {
        /// The first targets, by namespace and name.
        targets: Vec<String>,
        /// The number of other targets.
        more: usize,
        /// The workloads before it in its queue.
        #[serde(skip_serializing_if = "Option::is_none")]
        behind: Option<WorkloadsAhead>,
    },
    /// The targets of its preemption have to terminate.
    PendingPreemption {
        /// The number of targets.
        targets: usize,
    },
    /// Quota or capacity of the topology is used by others.
    Insufficient {
        /// The pod sets that do not fit.
        pod_sets: Vec<PodSetShortage>,
        /// Why preemption does not suffice.
        #[serde(skip_serializing_if = "Option::is_none")]
        preemption: Option<PreemptionShortageReason>,
    },
    /// Its last evaluation failed for this cause.
    Evaluated {
        /// The cause.
        cause: InadmissibleCause,
    },
    /// The first workload of a StrictFIFO queue blocks it.
    BlockedByHead {
        /// The workloads before it in its queue.
        behind: WorkloadsAhead,
    },
    /// No cycle evaluated it yet.
    NotEvaluated {
        /// Its position in its queue, from 1, if it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        position: Option<usize>,
    },
}

/// The workloads before a pending one in its ClusterQueue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadsAhead {
    /// The first one in the queue.
    pub first: String,
    /// Their number.
    pub count: usize,
}

/// A reason why a pod set can never be assigned a flavor, even without any usage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum PermanentReason {
    /// No resource group covers a resource.
    NoQuota {
        /// The ClusterQueue.
        cluster_queue: String,
        /// The resource.
        resource: ResourceName,
        /// The request.
        requested: Amount,
    },
    /// Pods cannot use the flavor.
    Mismatch {
        /// Why.
        reason: FlavorReason,
    },
    /// The least request exceeds the quota without any usage.
    ExceedsCapacity {
        /// The flavor.
        flavor: FlavorName,
        /// The resource.
        resource: ResourceName,
        /// The request of the least number of pods.
        requested: Amount,
        /// The available quota without any usage.
        capacity: Amount,
    },
    /// The pods have no topology assignment with all nodes free.
    NoTopologyAssignment {
        /// The flavor.
        flavor: FlavorName,
        /// Why.
        failure: TasFailure,
    },
}

/// What a pod set lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSetShortage {
    /// The pod set, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_set: Option<String>,
    /// What it lacks.
    pub shortage: Shortage,
}

/// What a pod set lacks in the flavor that lacks the fewest resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Shortage {
    /// Quota.
    Quota {
        /// The missing amounts of a flavor, by resource name.
        missing: Vec<MissingQuota>,
        /// With partial admission, the least number of pods, which lack it, and the number of all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pods: Option<(i32, i32)>,
    },
    /// A topology assignment in the only flavor with quota, even with all nodes free.
    Topology {
        /// The flavor.
        flavor: FlavorName,
        /// Why.
        failure: TasFailure,
        /// The flavors before it in which nothing is preempted, because this one has unused quota
        /// and flavorFungibility prefers the next flavor to preemption.
        not_preempted_in: Vec<FlavorName>,
    },
    /// Something else.
    Reasons {
        /// The reasons of the last evaluation.
        reasons: Vec<FlavorReason>,
    },
}

/// The missing quota of a resource in a flavor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingQuota {
    /// The flavor.
    pub flavor: FlavorName,
    /// The resource.
    pub resource: ResourceName,
    /// The missing quota.
    pub missing: Amount,
}
