//! Where a workload stands: conditions, checks, requeueing, statistics.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use super::Admission;
#[cfg(test)]
use crate::schema::{Amount, CheckName, DateTime, PodSetName, cel, toleration_rules};
use crate::v1beta2::{CheckState, ResourceList};
use crate::wire::nullable;

/// Where a workload stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[
    (
        "!has(oldSelf.clusterName) || !has(self.clusterName) || oldSelf.clusterName == self.clusterName",
        "clusterName is immutable once set",
    ),
    (
        "!has(self.clusterName) || (!has(self.nominatedClusterNames) || (has(self.nominatedClusterNames) && size(self.nominatedClusterNames) == 0))",
        "clusterName and nominatedClusterNames are mutually exclusive",
    ),
]))))]
pub struct WorkloadStatus {
    /// Conditions by type: QuotaReserved, Admitted, PodsReady, Evicted, Preempted, Requeued,
    /// Finished and others. At most 16.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    )))]
    pub conditions: Vec<Condition>,
    /// The quota reservation. Can be removed, but its parts cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<Admission>,
    /// When and for the how manieth time the workload is queued again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue_state: Option<RequeueState>,
    /// Pods that need their quota no longer.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 18), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub reclaimable_pods: Vec<ReclaimablePod>,
    /// Where the workload stands with each of its AdmissionChecks.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub admission_checks: Vec<AdmissionCheckState>,
    /// What the pod sets requested when admission was last considered; empty once quota is
    /// reserved.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 18), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub resource_requests: Vec<PodSetRequest>,
    /// Seconds for which the workload was admitted in earlier admissions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulated_past_execution_time_seconds: Option<i32>,
    /// Counts of what happened to the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_stats: Option<SchedulingStats>,
    /// Worker clusters among which one is to be chosen; emptied when `clusterName` is set.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 20), inner(length(max = 256)),
        extend("x-kubernetes-list-type" = "atomic")))]
    pub nominated_cluster_names: Vec<String>,
    /// The worker cluster the workload runs in; removed when it is evicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 256)))]
    pub cluster_name: Option<String>,
    /// Failed nodes with pods of this workload, for which replacements are sought.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub unhealthy_nodes: Vec<UnhealthyNode>,
    /// Positions of the preemption gates.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub preemption_gates: Vec<PreemptionGateState>,
}

/// Counts of what happened to a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulingStats {
    /// Evictions by reason and cause.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 256), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["reason", "underlyingCause"],
    )))]
    pub evictions: Vec<WorkloadSchedulingStatsEviction>,
}

/// How often a workload was evicted for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["count", "reason", "underlyingCause"])))]
pub struct WorkloadSchedulingStatsEviction {
    /// The reason of the Evicted condition.
    #[cfg_attr(test, schemars(length(max = 316)))]
    pub reason: String,
    /// What was behind the reason; may be empty.
    #[cfg_attr(test, schemars(length(max = 316)))]
    pub underlying_cause: String,
    /// How often.
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub count: i32,
}

/// A failed node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct UnhealthyNode {
    /// Name of the node.
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub name: String,
}

/// Requeueing after an eviction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RequeueState {
    /// How often the workload was queued again; forgotten when it is reactivated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub count: Option<i32>,
    /// When it is queued again; forgotten when it is reactivated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "DateTime"))]
    pub requeue_at: Option<Time>,
}

/// Where a workload stands with one AdmissionCheck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["lastTransitionTime", "message", "name", "state"])))]
pub struct AdmissionCheckState {
    /// Name of the check.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(with = "CheckName"))]
    pub name: String,
    /// The judgement.
    pub state: CheckState,
    /// When the state last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "DateTime"))]
    pub last_transition_time: Option<Time>,
    /// Details for people; may be empty.
    #[cfg_attr(test, schemars(length(max = 32768)))]
    pub message: String,
    /// With `Retry`: how many seconds after the transition to queue the workload again; without it,
    /// at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub requeue_after_seconds: Option<i32>,
    /// How often the check went to `Retry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub retry_count: Option<i32>,
    /// Changes to the pods that the check asks for.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 18), extend("x-kubernetes-list-type" = "atomic")))]
    pub pod_set_updates: Vec<PodSetUpdate>,
}

impl Default for AdmissionCheckState {
    fn default() -> Self {
        Self {
            name: String::new(),
            state: CheckState::Pending,
            last_transition_time: None,
            message: String::new(),
            requeue_after_seconds: None,
            retry_count: None,
            pod_set_updates: Vec::new(),
        }
    }
}

/// Additions to the pods of one set. Only additions: a key that is already there with another
/// value, or comes from two checks, makes the admission fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct PodSetUpdate {
    /// Name of the pod set.
    #[cfg_attr(test, schemars(with = "PodSetName"))]
    pub name: String,
    /// Labels to add.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    pub labels: BTreeMap<String, String>,
    /// Annotations to add.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    pub annotations: BTreeMap<String, String>,
    /// Node selectors to add.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    pub node_selector: BTreeMap<String, String>,
    /// Tolerations to add.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = toleration_rules(),
    )))]
    pub tolerations: Vec<Toleration>,
}

/// Pods of a set that need their quota no longer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["count", "name"])))]
pub struct ReclaimablePod {
    /// Name of the pod set.
    #[cfg_attr(test, schemars(with = "PodSetName"))]
    pub name: String,
    /// How many.
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub count: i32,
}

/// What a pod set requested when admission was last considered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct PodSetRequest {
    /// Name of the pod set.
    #[cfg_attr(test, schemars(with = "PodSetName"))]
    pub name: String,
    /// What all pods of the set need together, with LimitRange defaults and RuntimeClass overhead,
    /// after exclusions and transformations of the configuration.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Amount>"))]
    pub resources: ResourceList,
}

wire_enum! {
    /// Whether a preemption gate lets the workload preempt.
    PreemptionGatePosition {
        /// It does not.
        Closed = "Closed",
        /// It does.
        Open = "Open",
    }
}

/// The position of one preemption gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["lastTransitionTime", "name", "position"])))]
pub struct PreemptionGateState {
    /// Name of the gate.
    #[cfg_attr(test, schemars(length(min = 1, max = 63)))]
    pub name: String,
    /// Its position.
    pub position: PreemptionGatePosition,
    /// When the position last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "DateTime"))]
    pub last_transition_time: Option<Time>,
}

impl Default for PreemptionGateState {
    fn default() -> Self {
        Self {
            name: String::new(),
            position: PreemptionGatePosition::Closed,
            last_transition_time: None,
        }
    }
}
