//! ResourceFlavor: a class of nodes for which quota is defined.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Taint, Toleration};
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::{ObjectName, cel, toleration_rules};
use crate::wire::nullable;

kind! {
    /// A class of nodes. Quota is defined by flavor; node labels and tolerations of the flavor
    /// direct pods to its nodes. A flavor without a spec stands for any node.
    cluster ResourceFlavor "kueue.x-k8s.io" "v1beta2" "resourceflavors" {
        /// The nodes of the flavor, and tolerations of their pods.
        spec: ResourceFlavorSpec,
    }
}

/// The nodes of a flavor.
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
    /// Labels of the flavor's nodes. A pod set that selects other values of the same keys cannot be
    /// assigned the flavor; once assigned, the labels are added to its node selector. At most 8.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(extend("maxProperties" = 8, "x-kubernetes-map-type" = "atomic")))]
    pub node_labels: BTreeMap<String, String>,
    /// Taints of the flavor's nodes: a pod set must tolerate those with effect NoSchedule or
    /// NoExecute, itself or by the flavor's `tolerations`, to be assigned the flavor. At most 8.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = cel(&[(
            "self.all(x, x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
            "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
        )]),
    )))]
    pub node_taints: Vec<Taint>,
    /// Tolerations added to the pods that are assigned the flavor. At most 8.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = toleration_rules(),
    )))]
    pub tolerations: Vec<Toleration>,
    /// The Topology of the flavor's nodes, for topology-aware scheduling of pod sets. Requires at
    /// least one node label; immutable once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub topology_name: Option<String>,
}
