//! What the node-pool file says of nodes that are really there.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::ResourceExt;
use serde::Deserialize;

use crate::nodes::is_managed;
use crate::nodes::node_pools::{RawQuantity, RawTaint};
use crate::nodes::validation::{self, invalid};
use kueue_lab_quantity::Quantity;
use kueue_lab_yaml::{Located, Problem};

/// Keys the lab itself gives; no file may.
const RESERVED: &str = "kueue-lab.dev/";
/// Label and taint of nodes that run the control plane.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// Real nodes that are given what they do not have.
#[derive(Clone, Debug, PartialEq)]
pub struct RealNodes {
    /// What they are called in messages.
    pub name: String,
    /// Labels a node must have to be among them.
    pub selector: BTreeMap<String, String>,
    /// What each is given; resources with a domain only.
    pub resources: BTreeMap<String, Quantity>,
    /// Labels each is given.
    pub labels: BTreeMap<String, String>,
    /// Taints each is given.
    pub taints: Vec<Taint>,
}

impl RealNodes {
    /// Whether a node is among them. Nodes that the lab made never are; nodes kept for the control
    /// plane are where the selector names that label.
    pub fn selects(&self, node: &Node) -> bool {
        let matches = |(key, value): (&String, &String)| node.labels().get(key) == Some(value);
        let taints = node.spec.iter().flat_map(|s| s.taints.iter().flatten());
        let kept = taints.filter(|t| t.key == CONTROL_PLANE).count() > 0;
        !is_managed(node)
            && self.selector.iter().all(matches)
            && (!kept || self.selector.contains_key(CONTROL_PLANE))
    }
}

/// Real nodes as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::nodes) struct RawRealNodes {
    pub(in crate::nodes) name: Located<String>,
    selector: BTreeMap<String, Located<String>>,
    #[serde(default)]
    resources: BTreeMap<String, Located<RawQuantity>>,
    #[serde(default)]
    labels: BTreeMap<String, Located<String>>,
    #[serde(default)]
    taints: Vec<Located<RawTaint>>,
}

impl RawRealNodes {
    /// Makes sure that all of it can be.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub(in crate::nodes) fn check(self) -> Result<RealNodes, Problem> {
        let mut resources = BTreeMap::new();
        for (resource, amount) in self.resources {
            if !resource.contains('/') || resource.starts_with("kubernetes.io/") {
                let message = format!(
                    "{resource} of a real node is what its machine has; only resources with a domain, such as nvidia.com/gpu, can be given to it"
                );
                return invalid(amount.at, message);
            }
            let quantity = validation::amount(&resource, &amount)?;
            resources.insert(resource, quantity);
        }
        for (key, value) in &self.labels {
            if key.starts_with(RESERVED) {
                return invalid(
                    value.at,
                    format!("labels with {RESERVED} are the lab's own"),
                );
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
