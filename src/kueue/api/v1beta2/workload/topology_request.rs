//! The topology request of a pod set.

use serde::{Deserialize, Serialize};

use crate::wire::nullable;

/// The topology request of a pod set, from annotations of the pod template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PodSetTopologyRequest {
    /// All pods must be in one domain of this level.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub required: Option<String>,
    /// All pods should be in one domain of this level, or else of a higher level.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub preferred: Option<String>,
    /// The pods may be in any domain of the flavor's topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unconstrained: Option<bool>,
    /// The label with the index of a pod, such as `batch.kubernetes.io/job-completion-index`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 317)))]
    pub pod_index_label: Option<String>,
    /// The label with the index of a subgroup (replicated job) within the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 317)))]
    pub sub_group_index_label: Option<String>,
    /// The number of subgroups.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub sub_group_count: Option<i32>,
    /// Pod sets with the same group name are assigned the same flavor and domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 256)))]
    pub pod_set_group_name: Option<String>,
    /// Each slice of the set must be in one domain of this level.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub pod_set_slice_required_topology: Option<String>,
    /// The number of pods in a slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub pod_set_slice_size: Option<i32>,
    /// Nested slices, from the highest level to the lowest; at most three. Mutually exclusive with
    /// the two fields above.
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
    /// The level in one domain of which a slice of this layer must be.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(min = 1, max = 63)))]
    pub topology: String,
    /// The number of pods in a slice of this layer.
    #[serde(skip_serializing_if = "crate::wire::zero")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub size: i32,
}
