//! The admission of a workload: ClusterQueue, flavors, resource usage and topology assignment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TopologyAssignment;
#[cfg(test)]
use crate::schema::{Amount, ObjectName, PodSetName};
use crate::v1beta2::ResourceList;
use crate::wire::nullable;

/// The quota reservation of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Admission {
    /// Name of the ClusterQueue whose quota is reserved.
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub cluster_queue: String,
    /// The assignments of the pod sets.
    #[serde(deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 18), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub pod_set_assignments: Vec<PodSetAssignment>,
}

/// The assignment of one pod set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PodSetAssignment {
    /// Name of the pod set. Default `main`.
    #[cfg_attr(test, schemars(with = "PodSetName", extend("x-default" = "main")))]
    pub name: String,
    /// The flavor of each resource.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, ObjectName>"))]
    pub flavors: BTreeMap<String, String>,
    /// The total requests of the pods of the set at admission, including LimitRange defaults and
    /// RuntimeClass overhead. Not changed when pods finish.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Amount>"))]
    pub resource_usage: ResourceList,
    /// The number of admitted pods; less than the spec's count with partial admission. Not changed
    /// when pods finish. Absent, the spec's count applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub count: Option<i32>,
    /// The topology domains of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_assignment: Option<TopologyAssignment>,
    /// Set if the topology assignment waits for nodes to be provisioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 7)))]
    pub delayed_topology_request: Option<DelayedTopologyRequestState>,
}

wire_enum! {
    /// The state of a delayed topology assignment.
    DelayedTopologyRequestState {
        /// Not assigned yet.
        Pending = "Pending",
        /// Assigned.
        Ready = "Ready",
    }
}
