//! The `realNodes` of the node-pool file.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::ResourceExt;
use serde::Deserialize;

use crate::is_managed;
use crate::node_pools::{RawQuantity, RawTaint};
use crate::validation::{self, invalid};
use kueue_lab_quantity::Quantity;
use kueue_lab_yaml::{Located, Problem};

/// Prefix of the lab's own labels; files must not use it.
const RESERVED: &str = "kueue-lab.dev/";
/// Label and taint of control plane nodes.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// Fake resources for the real nodes that a selector matches.
#[derive(Clone, Debug, PartialEq)]
pub struct RealNodes {
    /// Their name in messages.
    pub name: String,
    /// Labels that select the nodes.
    pub selector: BTreeMap<String, String>,
    /// Extended resources of each node; only domain-prefixed names.
    pub resources: BTreeMap<String, Quantity>,
    /// Labels of each node.
    pub labels: BTreeMap<String, String>,
    /// Taints of each node.
    pub taints: Vec<Taint>,
}

impl RealNodes {
    /// Whether the selector matches a node. Virtual nodes never match; control plane nodes match
    /// only if the selector has their label.
    pub fn selects(&self, node: &Node) -> bool {
        let matches = |(key, value): (&String, &String)| node.labels().get(key) == Some(value);
        let taints = node.spec.iter().flat_map(|s| s.taints.iter().flatten());
        let kept = taints.filter(|t| t.key == CONTROL_PLANE).count() > 0;
        !is_managed(node)
            && self.selector.iter().all(matches)
            && (!kept || self.selector.contains_key(CONTROL_PLANE))
    }
}

/// An entry as read from the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RawRealNodes {
    pub(crate) name: Located<String>,
    selector: BTreeMap<String, Located<String>>,
    #[serde(default)]
    resources: BTreeMap<String, Located<RawQuantity>>,
    #[serde(default)]
    labels: BTreeMap<String, Located<String>>,
    #[serde(default)]
    taints: Vec<Located<RawTaint>>,
}

impl RawRealNodes {
    /// Validates the entry.
    ///
    /// # Errors
    /// The first error, with its position.
    pub(crate) fn check(self) -> Result<RealNodes, Problem> {
        let mut resources = BTreeMap::new();
        for (resource, amount) in self.resources {
            if !resource.contains('/') || resource.starts_with("kubernetes.io/") {
                let message = format!(
                    "{resource} of a real node cannot be faked; only resources with a domain, such as nvidia.com/gpu, can"
                );
                return invalid(amount.at, message);
            }
            let quantity = validation::amount(&resource, &amount)?;
            resources.insert(resource, quantity);
        }
        for (key, value) in &self.labels {
            if key.starts_with(RESERVED) {
                return invalid(value.at, format!("labels with {RESERVED} are reserved"));
            }
        }
        let taints = self.taints.into_iter().map(validation::taint);
        Ok(RealNodes {
            name: self.name.value,
            selector: validation::labels(self.selector)?,
            resources,
            labels: validation::labels(self.labels)?,
            taints: taints.collect::<Result<_, _>>()?,
        })
    }
}
