//! The topology assignment of a pod set, in the compressed form of v1beta2.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::cel;
use crate::wire::nullable;

/// The domains assigned to a pod set, with the number of pods in each.
///
/// A domain is one value per level. Values are stored level by level, in slices; within a slice a
/// value shared by all domains is written once, and so are common prefixes and suffixes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend(
    "required" = ["levels", "slices"],
    "x-kubernetes-validations" = cel(&[(
        "self.slices.all(x, size(x.valuesPerLevel) == size(self.levels))",
        "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment",
    )]),
)))]
pub struct TopologyAssignment {
    /// Node label keys from the highest level to the lowest. Only the host label if that is the
    /// lowest, since it identifies the domain.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 16), inner(length(max = 317)),
        extend("x-kubernetes-list-type" = "atomic")))]
    pub levels: Vec<String>,
    /// The parts of the assignment.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 1000), extend("x-kubernetes-list-type" = "atomic")))]
    pub slices: Vec<TopologyAssignmentSlice>,
}

/// A sequence of domains that are encoded together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend(
    "required" = ["domainCount", "podCounts", "valuesPerLevel"],
    "x-kubernetes-validations" = cel(&[
        (
            "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",
            "podCounts.individual must have length equal to domainCount",
        ),
        (
            "self.valuesPerLevel.all(x, !has(x.individual) || size(x.individual.roots) == self.domainCount)",
            "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this TopologyAssignmentSlice",
        ),
    ]),
)))]
pub struct TopologyAssignmentSlice {
    /// The number of domains in this slice.
    #[serde(skip_serializing_if = "crate::wire::zero")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub domain_count: i32,
    /// The values of the domains, one entry for each level.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic")))]
    pub values_per_level: Vec<TopologyAssignmentSliceLevelValues>,
    /// The number of pods in each domain.
    pub pod_counts: TopologyAssignmentSlicePodCounts,
}

/// The values of a slice at one level; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[(
    "has(self.universal) != has(self.individual)",
    "exactly one of the fields in [universal individual] must be set",
)]))))]
pub struct TopologyAssignmentSliceLevelValues {
    /// The value all domains share.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub universal: Option<String>,
    /// A value for each domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub individual: Option<TopologyAssignmentSliceLevelIndividualValues>,
}

/// A value for each domain: prefix, own part, suffix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["roots"])))]
pub struct TopologyAssignmentSliceLevelIndividualValues {
    /// The common prefix of all values; not empty if set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub prefix: Option<String>,
    /// The common suffix of all values; not empty if set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 63)))]
    pub suffix: Option<String>,
    /// The parts between prefix and suffix, one for each domain.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 100_000), inner(length(max = 63)),
        extend("x-kubernetes-list-type" = "atomic")))]
    pub roots: Vec<String>,
}

/// Pods per domain of a slice; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[(
    "[has(self.universal),has(self.individual)].filter(x,x==true).size() == 1",
    "exactly one of the fields in [universal individual] must be set",
)]))))]
pub struct TopologyAssignmentSlicePodCounts {
    /// The number of pods in every domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub universal: Option<i32>,
    /// A number for each domain.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 100_000), inner(range(min = 1)),
        extend("x-kubernetes-list-type" = "atomic")))]
    pub individual: Vec<i32>,
}
