//! LocalQueue: a namespace's entry point to a ClusterQueue.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use super::{FairSharing, ResourceList, StopPolicy};
#[cfg(test)]
use crate::schema::{Amount, ObjectName, cel};
use crate::wire::nullable;

kind! {
    /// A namespaced queue that jobs name in a label. It points to one ClusterQueue.
    namespaced LocalQueue "kueue.x-k8s.io" "v1beta2" "localqueues" {
        /// The desired state.
        spec: LocalQueueSpec,
        /// The observed state.
        status: LocalQueueStatus,
    }
}

/// The desired state of a LocalQueue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LocalQueueSpec {
    /// Name of the ClusterQueue. Immutable.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "ObjectName", extend(
        "x-kubernetes-validations" = cel(&[("self == oldSelf", "field is immutable")]),
    )))]
    pub cluster_queue: String,
    /// Stops the queue: anything but `None` makes it inactive. Default `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "None")))]
    pub stop_policy: Option<StopPolicy>,
    /// Weight in admission fair sharing; takes effect if the configuration enables it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharing>,
}

impl LocalQueueSpec {
    /// The stop policy, with its default.
    pub fn stop_policy(&self) -> StopPolicy {
        self.stop_policy.unwrap_or(StopPolicy::None)
    }
}

/// The observed state of a LocalQueue. The three counts are written even if zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LocalQueueStatus {
    /// Conditions by type; `Active` is true if submitted workloads can be admitted.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    )))]
    pub conditions: Vec<Condition>,
    /// The number of pending workloads of this queue.
    pub pending_workloads: i32,
    /// The number of unfinished workloads of this queue with a quota reservation.
    pub reserving_workloads: i32,
    /// The number of unfinished admitted workloads of this queue.
    pub admitted_workloads: i32,
    /// Quota reserved by this queue's workloads, by flavor.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub flavors_reservation: Vec<LocalQueueFlavorUsage>,
    /// Quota used by this queue's admitted workloads, by flavor.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub flavors_usage: Vec<LocalQueueFlavorUsage>,
    /// The state of fair sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<LocalQueueFairSharingStatus>,
}

/// The state of a LocalQueue in fair sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["weightedShare"])))]
pub struct LocalQueueFairSharingStatus {
    /// The weighted share, as in the status of a ClusterQueue.
    pub weighted_share: i64,
    /// Usage over time; only if admission fair sharing is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_fair_sharing_status: Option<LocalQueueAdmissionFairSharingStatus>,
}

/// Usage over time, by which admission fair sharing orders LocalQueues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["consumedResources", "lastUpdate"])))]
pub struct LocalQueueAdmissionFairSharingStatus {
    /// Past usage, which decays by half in each half-life time.
    #[serde(deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, Amount>"))]
    pub consumed_resources: ResourceList,
    /// When `consumedResources` was last updated.
    pub last_update: Option<Time>,
}

/// Usage of one flavor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name", "resources"])))]
pub struct LocalQueueFlavorUsage {
    /// Name of the flavor.
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub name: String,
    /// Usage of each resource.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub resources: Vec<LocalQueueResourceUsage>,
}

/// Usage of one resource in one flavor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct LocalQueueResourceUsage {
    /// Name of the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The total.
    #[serde(with = "crate::wire::quantity")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub total: Quantity,
}
