//! The spec of a workload: pod sets, queue and priority.

use std::sync::Arc;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::{Deserialize, Serialize};

use super::PodSetTopologyRequest;
#[cfg(test)]
use crate::schema::{ObjectName, PodSetName, SUBDOMAIN, cel};
use crate::wire::nullable;

/// The desired state of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[(
    "!has(self.priorityClassRef) || has(self.priority)",
    "priority should not be nil when priorityClassRef is set",
)]))))]
pub struct WorkloadSpec {
    /// The pod sets, from 1 to 18. Immutable while quota is reserved.
    #[serde(deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 18), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub pod_sets: Vec<PodSet>,
    /// Name of the LocalQueue. Immutable while quota is reserved.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub queue_name: String,
    /// The class of the priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_ref: Option<PriorityClassRef>,
    /// The priority: higher is admitted first and may preempt lower. Required with a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Whether the workload may be admitted; setting it to false evicts it. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = true)))]
    pub active: Option<bool>,
    /// The total number of seconds for which the workload may be admitted before it is deactivated;
    /// absent, no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub maximum_execution_time_seconds: Option<i32>,
    /// Gates that prevent the workload from preempting others until they are open in the status.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub preemption_gates: Vec<PreemptionGate>,
}

impl WorkloadSpec {
    /// Whether the workload may be admitted.
    pub fn is_active(&self) -> bool {
        self.active.unwrap_or(true)
    }
}

wire_enum! {
    /// The API group of a priority class.
    PriorityClassGroup {
        /// Kueue's own classes.
        Kueue = "kueue.x-k8s.io",
        /// Kubernetes' pod priority classes.
        Scheduling = "scheduling.k8s.io",
    }
}

wire_enum! {
    /// The kind of a priority class.
    PriorityClassKind {
        /// Kueue's own.
        WorkloadPriorityClass = "WorkloadPriorityClass",
        /// Kubernetes' own, for pods.
        PriorityClass = "PriorityClass",
    }
}

/// The class of a workload's priority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[
    (
        "(self.group == 'scheduling.k8s.io') ? self.kind == 'PriorityClass' : true",
        "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
    ),
    (
        "(self.group == 'kueue.x-k8s.io') ? self.kind == 'WorkloadPriorityClass' : true",
        "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
    ),
]))))]
pub struct PriorityClassRef {
    /// API group of the class.
    pub group: PriorityClassGroup,
    /// Kind of the class, which must match the group.
    pub kind: PriorityClassKind,
    /// Name of the class.
    #[cfg_attr(test, schemars(length(min = 1, max = 253), regex(pattern = SUBDOMAIN)))]
    pub name: String,
}

impl PriorityClassRef {
    /// A WorkloadPriorityClass.
    pub fn workload(name: impl Into<String>) -> Self {
        Self {
            group: PriorityClassGroup::Kueue,
            kind: PriorityClassKind::WorkloadPriorityClass,
            name: name.into(),
        }
    }

    /// A pod PriorityClass.
    pub fn pod(name: impl Into<String>) -> Self {
        Self {
            group: PriorityClassGroup::Scheduling,
            kind: PriorityClassKind::PriorityClass,
            name: name.into(),
        }
    }
}

/// A set of pods with the same template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend(
    "required" = ["template"],
    "x-kubernetes-validations" = cel(&[(
        "has(self.minCount) ? self.minCount <= self.count : true",
        "minCount should be positive and less or equal to count",
    )]),
)))]
pub struct PodSet {
    /// Name of the set, a DNS label in lower case. Default `main`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(with = "PodSetName", extend("x-default" = "main")))]
    pub name: String,
    /// The pod template. Of its metadata, only labels and annotations are used. Limits are the
    /// requests of containers without requests.
    //
    // Shared by the versions of a workload: the template is its largest part, and the status
    // changes more often.
    pub template: Arc<PodTemplateSpec>,
    /// The number of pods. Default 1.
    #[cfg_attr(test, schemars(range(min = 0), extend("x-default" = 1)))]
    pub count: i32,
    /// The minimum number of pods for partial admission; absent, all. At most one pod set of a
    /// workload may set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub min_count: Option<i32>,
    /// The topology request, for topology-aware scheduling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_request: Option<PodSetTopologyRequest>,
}

impl Default for PodSet {
    /// As the API server defaults it: one pod, named `main`.
    fn default() -> Self {
        Self {
            name: crate::constants::DEFAULT_POD_SET_NAME.to_owned(),
            template: Arc::default(),
            count: 1,
            min_count: None,
            topology_request: None,
        }
    }
}

/// A gate that prevents a workload from preempting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct PreemptionGate {
    /// Name of the gate.
    #[cfg_attr(test, schemars(length(min = 1, max = 63)))]
    pub name: String,
}
