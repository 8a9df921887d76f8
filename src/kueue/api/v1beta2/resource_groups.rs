//! Resource groups: quota by resource and flavor. Shared by ClusterQueue and Cohort.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::{Amount, ObjectName, cel};
use crate::wire::nullable;

/// Resources that are assigned the same flavor, and the flavors in the order of assignment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend(
    "required" = ["coveredResources", "flavors"],
    "x-kubernetes-validations" = cel(&[(
        "self.flavors.all(x, size(x.resources) == size(self.coveredResources))",
        "flavors must have the same number of resources as the coveredResources",
    )]),
)))]
pub struct ResourceGroup {
    /// Names of the resources of this group, such as `cpu` or `nvidia.com/gpu`. A resource belongs
    /// to at most one group of a queue; the groups of a queue cover at most 256 resources.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 64), extend("x-kubernetes-list-type" = "atomic")))]
    pub covered_resources: Vec<String>,
    /// The flavors, in the order of assignment. Each lists every covered resource in the same
    /// order. A flavor belongs to at most one group of a queue.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub flavors: Vec<FlavorQuotas>,
}

/// The quotas of one flavor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name", "resources"])))]
pub struct FlavorQuotas {
    /// Name of the ResourceFlavor. The queue is inactive while the object is absent.
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub name: String,
    /// The quota of each covered resource.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub resources: Vec<ResourceQuota>,
}

/// The quota of one resource in one flavor, with its borrowing and lending limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name", "nominalQuota"])))]
pub struct ResourceQuota {
    /// Name of the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The quota of this queue; not negative. In a cohort, unused quota can be borrowed by other
    /// members, and reclaimed.
    #[serde(with = "crate::wire::quantity")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub nominal_quota: Quantity,
    /// The maximum amount borrowed from the cohort in addition to `nominalQuota`; absent, no limit.
    /// Requires a cohort; must not be negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub borrowing_limit: Option<Quantity>,
    /// The maximum amount of unused `nominalQuota` that other members of the cohort may borrow;
    /// absent, all. Requires a cohort; at most `nominalQuota`; must not be negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub lending_limit: Option<Quantity>,
}
