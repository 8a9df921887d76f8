//! Topology: the levels of a data centre, as node labels.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::{QUALIFIED, cel};
use crate::wire::nullable;

kind! {
    /// The hierarchy of blocks, racks and hosts for topology-aware scheduling.
    cluster Topology "kueue.x-k8s.io" "v1beta2" "topologies" {
        /// The levels.
        spec: TopologySpec,
    }
}

/// The levels of a topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["levels"])))]
pub struct TopologySpec {
    /// The levels from the widest to the narrowest, all different; `kubernetes.io/hostname` can
    /// only be the last. Mutable only if the last level is the host before and after the change.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 16), extend(
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = cel(&[
            (
                "self == oldSelf || (self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname' && oldSelf[size(oldSelf) - 1].nodeLabel == 'kubernetes.io/hostname')",
                "levels are mutable only when kubernetes.io/hostname is the lowest level both before and after the change",
            ),
            ("size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0", "must be unique"),
            (
                "size(self.filter(i, i.nodeLabel == 'kubernetes.io/hostname')) == 0 || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'",
                "the kubernetes.io/hostname label can only be used at the lowest level of topology",
            ),
        ]),
    )))]
    pub levels: Vec<TopologyLevel>,
}

/// One level of a topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["nodeLabel"])))]
pub struct TopologyLevel {
    /// The node label whose values are the domains of this level, such as
    /// `cloud.provider.com/topology-rack`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(min = 1, max = 316), regex(pattern = QUALIFIED)))]
    pub node_label: String,
}
