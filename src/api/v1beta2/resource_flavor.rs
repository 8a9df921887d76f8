//! ResourceFlavor: a sort of machine that quota is counted in.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Taint, Toleration};
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::{ObjectName, cel, toleration_rules};
use crate::wire::nullable;

kind! {
    /// A sort of machine: quota is given by flavor, and a flavor leads pods to its nodes by labels
    /// and tolerations. One without a spec stands for any node.
    cluster ResourceFlavor "kueue.x-k8s.io" "v1beta2" "resourceflavors" {
        /// Which nodes the flavor stands for and what their pods are given.
        spec: ResourceFlavorSpec,
    }
}

/// Which nodes a flavor stands for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[
    (
        "!has(self.topologyName) || self.nodeLabels.size() >= 1",
        "at least one nodeLabel is required when topology is set",
    ),
    (
        "!has(oldSelf.topologyName) || (has(self.topologyName) && self.topologyName == oldSelf.topologyName)",
        "topologyName is immutable when topologyName is set",
    ),
]))))]
pub struct ResourceFlavorSpec {
    /// Labels of the flavor's nodes. A pod set that selects other values for the same keys cannot
    /// get the flavor; one that gets it has these added to its node selector. At most 8.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(extend("maxProperties" = 8, "x-kubernetes-map-type" = "atomic")))]
    pub node_labels: BTreeMap<String, String>,
    /// Taints of the flavor's nodes: a pod set must tolerate those with effect NoSchedule or
    /// NoExecute, by itself or by the flavor's `tolerations`, to get the flavor. At most 8.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = cel(&[(
            "self.all(x, x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
            "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
        )]),
    )))]
    pub node_taints: Vec<Taint>,
    /// Tolerations added to the pods that get the flavor. At most 8.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = toleration_rules(),
    )))]
    pub tolerations: Vec<Toleration>,
    /// The Topology by which the flavor's nodes are placed: with it, pod sets are assigned to
    /// topology domains. Needs at least one node label and cannot be changed once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub topology_name: Option<String>,
}
