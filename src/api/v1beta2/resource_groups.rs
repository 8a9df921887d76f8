//! Quota: which resources come in which flavors, and how much of each. Shared by ClusterQueue and
//! Cohort.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::{Amount, ObjectName, cel};
use crate::wire::nullable;

/// Resources that are always taken from the same flavor, and the flavors to try in order.
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
    /// Names of the resources this group gives quota for, such as `cpu` or `nvidia.com/gpu`. A
    /// resource belongs to one group of a queue only; the groups of a queue cover at most 256.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 64), extend("x-kubernetes-list-type" = "atomic")))]
    pub covered_resources: Vec<String>,
    /// The flavors, in the order in which admission tries them. Each lists every covered resource
    /// in the same order. A flavor belongs to one group of a queue only.
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
    /// Name of the ResourceFlavor. While no such object exists the queue is inactive.
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub name: String,
    /// One quota for each resource the group covers.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub resources: Vec<ResourceQuota>,
}

/// The quota of one resource in one flavor, and how far it may be stretched within the cohort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name", "nominalQuota"])))]
pub struct ResourceQuota {
    /// Name of the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How much of the resource is this queue's own; never negative. In a cohort, what the queue
    /// leaves unused can be borrowed by others, and taken back by reclaim.
    #[serde(with = "crate::wire::quantity")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub nominal_quota: Quantity,
    /// How much may be borrowed from the cohort on top of `nominalQuota`; without it, all that the
    /// cohort can spare. Only with a cohort; must not be negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub borrowing_limit: Option<Quantity>,
    /// How much of `nominalQuota` others in the cohort may borrow while it is unused; without it,
    /// all of it. Only with a cohort; at most `nominalQuota`; must not be negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub lending_limit: Option<Quantity>,
}
