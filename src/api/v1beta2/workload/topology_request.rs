//! What a pod set asks of topology-aware scheduling.

use serde::{Deserialize, Serialize};

use crate::wire::nullable;

/// Where the pods of a set want to be. Comes from annotations on the pod template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PodSetTopologyRequest {
    /// All pods must be in one domain of this level.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub required: Option<String>,
    /// All pods should be in one domain of this level, or else of a level above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub preferred: Option<String>,
    /// The pods may be anywhere in the flavor's topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unconstrained: Option<bool>,
    /// The label that numbers the pods, such as `batch.kubernetes.io/job-completion-index`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 317)))]
    pub pod_index_label: Option<String>,
    /// The label that numbers the groups (replicated jobs) within the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 317)))]
    pub sub_group_index_label: Option<String>,
    /// How many such groups there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub sub_group_count: Option<i32>,
    /// Pod sets of the same group name get the same flavor and one domain together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 256)))]
    pub pod_set_group_name: Option<String>,
    /// Each slice of the set must be in one domain of this level.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub pod_set_slice_required_topology: Option<String>,
    /// How many pods make a slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub pod_set_slice_size: Option<i32>,
    /// Slices within slices, from the widest level to the narrowest; at most three. Excludes the
    /// two fields above.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 3), extend("x-kubernetes-list-type" = "atomic")))]
    pub podset_slice_required_topology_constraints: Vec<PodsetSliceRequiredTopologyConstraint>,
}

/// One layer of slices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["size", "topology"])))]
pub struct PodsetSliceRequiredTopologyConstraint {
    /// The level a slice of this layer must be within.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(min = 1, max = 63)))]
    pub topology: String,
    /// How many pods make a slice of this layer.
    #[serde(skip_serializing_if = "crate::wire::zero")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub size: i32,
}
