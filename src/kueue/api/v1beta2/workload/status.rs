//! The status of a workload: conditions, AdmissionChecks, requeueing and statistics.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use super::Admission;
#[cfg(test)]
use crate::schema::{Amount, CheckName, DateTime, PodSetName, cel, toleration_rules};
use crate::v1beta2::{CheckState, ResourceList};
use crate::wire::nullable;

/// The observed state of a workload.
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
    /// The quota reservation. It can be removed, but not changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<Admission>,
    /// The count and time of requeueing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue_state: Option<RequeueState>,
    /// Pods whose quota can be reclaimed.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 18), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub reclaimable_pods: Vec<ReclaimablePod>,
    /// The states of the workload's AdmissionChecks.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub admission_checks: Vec<AdmissionCheckState>,
    /// The requests of the pod sets when admission was last considered; empty once quota is
    /// reserved.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 18), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub resource_requests: Vec<PodSetRequest>,
    /// The total number of seconds of past admissions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulated_past_execution_time_seconds: Option<i32>,
    /// Statistics of the workload's scheduling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_stats: Option<SchedulingStats>,
    /// The worker clusters nominated for the workload; cleared when `clusterName` is set.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 20), inner(length(max = 256)),
        extend("x-kubernetes-list-type" = "atomic")))]
    pub nominated_cluster_names: Vec<String>,
    /// The worker cluster of the workload; removed on eviction.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 256)))]
    pub cluster_name: Option<String>,
    /// Failed nodes with pods of this workload, which are to be replaced.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub unhealthy_nodes: Vec<UnhealthyNode>,
    /// The states of the preemption gates.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub preemption_gates: Vec<PreemptionGateState>,
}

/// Statistics of a workload's scheduling.
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

/// The number of evictions of a workload for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["count", "reason", "underlyingCause"])))]
pub struct WorkloadSchedulingStatsEviction {
    /// The reason of the Evicted condition.
    #[cfg_attr(test, schemars(length(max = 316)))]
    pub reason: String,
    /// The underlying cause; may be empty.
    #[cfg_attr(test, schemars(length(max = 316)))]
    pub underlying_cause: String,
    /// The number of evictions.
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
    /// The number of requeues; reset when the workload is reactivated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub count: Option<i32>,
    /// The time of the next requeue; reset when the workload is reactivated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "DateTime"))]
    pub requeue_at: Option<Time>,
}

/// The state of one AdmissionCheck of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["lastTransitionTime", "message", "name", "state"])))]
pub struct AdmissionCheckState {
    /// Name of the check.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(with = "CheckName"))]
    pub name: String,
    /// The state.
    pub state: CheckState,
    /// When the state last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "DateTime"))]
    pub last_transition_time: Option<Time>,
    /// A human-readable message; may be empty.
    #[cfg_attr(test, schemars(length(max = 32768)))]
    pub message: String,
    /// With `Retry`, the delay of requeueing after the transition, in seconds; absent, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub requeue_after_seconds: Option<i32>,
    /// The number of transitions to `Retry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub retry_count: Option<i32>,
    /// Changes to the pods that the check requests.
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

/// Additions to the pods of one set. A key that is present with another value, or set by two
/// checks, is a conflict and fails the admission.
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

/// Pods of a set whose quota can be reclaimed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["count", "name"])))]
pub struct ReclaimablePod {
    /// Name of the pod set.
    #[cfg_attr(test, schemars(with = "PodSetName"))]
    pub name: String,
    /// The number of pods.
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub count: i32,
}

/// The requests of a pod set when admission was last considered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct PodSetRequest {
    /// Name of the pod set.
    #[cfg_attr(test, schemars(with = "PodSetName"))]
    pub name: String,
    /// The total requests of the pods of the set, including LimitRange defaults and RuntimeClass
    /// overhead, after exclusions and transformations of the configuration.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Amount>"))]
    pub resources: ResourceList,
}

wire_enum! {
    /// Whether a preemption gate allows the workload to preempt.
    PreemptionGatePosition {
        /// It does not.
        Closed = "Closed",
        /// It does.
        Open = "Open",
    }
}

/// The state of one preemption gate.
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
