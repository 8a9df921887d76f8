//! What a workload got: ClusterQueue, flavors, usage, placement.

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
    /// Name of the ClusterQueue whose quota is held.
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub cluster_queue: String,
    /// What each pod set was given.
    #[serde(deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 18), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub pod_set_assignments: Vec<PodSetAssignment>,
}

/// What one pod set was given.
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
    /// What all pods of the set need together, with LimitRange defaults and RuntimeClass overhead
    /// as they were at admission. Stays when pods finish.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Amount>"))]
    pub resource_usage: ResourceList,
    /// How many pods were admitted: fewer than asked for with partial admission. Stays when pods
    /// finish. Where absent, the spec's count holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub count: Option<i32>,
    /// The topology domains the pods go to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_assignment: Option<TopologyAssignment>,
    /// Set when the placement has to wait, for nodes that are yet to be provisioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 7)))]
    pub delayed_topology_request: Option<DelayedTopologyRequestState>,
}

wire_enum! {
    /// Whether a delayed placement is still to come.
    DelayedTopologyRequestState {
        /// Still to come.
        Pending = "Pending",
        /// Made.
        Ready = "Ready",
    }
}
