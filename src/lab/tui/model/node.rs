//! Nodes: allocatable resources, taints, conditions.

use k8s_openapi::api::core::v1::Node;

use super::meta::{Meta, Requests, requests_of};
use super::{ObjectKey, Row};
use crate::text::sanitize;

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeRow {
    /// Name, labels, age.
    pub meta: Meta,
    /// Whether the Ready condition is True.
    pub ready: bool,
    /// The reason of the Ready condition, if not ready.
    pub not_ready_reason: String,
    /// Whether it is cordoned.
    pub cordoned: bool,
    /// Taints, written `key=value:Effect`.
    pub taints: Vec<String>,
    /// Allocatable resources.
    pub allocatable: Requests,
}

impl NodeRow {
    /// Converts a Node.
    pub fn of(node: &Node) -> Self {
        let spec = node.spec.as_ref();
        let status = node.status.as_ref();
        let ready = status
            .and_then(|s| s.conditions.as_ref())
            .into_iter()
            .flatten()
            .find(|c| c.type_ == "Ready");
        Self {
            meta: Meta::of(&node.metadata),
            ready: ready.is_some_and(|c| c.status == "True"),
            not_ready_reason: ready
                .and_then(|c| c.reason.as_deref())
                .map(sanitize)
                .unwrap_or_default(),
            cordoned: spec.and_then(|s| s.unschedulable).unwrap_or(false),
            taints: spec
                .and_then(|s| s.taints.as_ref())
                .into_iter()
                .flatten()
                .map(|t| match t.value.as_deref().unwrap_or_default() {
                    "" => sanitize(&format!("{}:{}", t.key, t.effect)),
                    value => sanitize(&format!("{}={value}:{}", t.key, t.effect)),
                })
                .collect(),
            allocatable: status
                .and_then(|s| s.allocatable.as_ref().or(s.capacity.as_ref()))
                .map(requests_of)
                .unwrap_or_default(),
        }
    }

    /// Its extended resources (GPUs and other devices), sorted by name.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.allocatable
            .iter()
            .filter(|(name, amount)| is_extended_resource(name) && !amount.is_zero())
            .map(|(name, _)| name.as_str())
    }

    /// The GPU product from a well-known label.
    pub(crate) fn gpu_product(&self) -> Option<&str> {
        [
            "nvidia.com/gpu.product",
            "cloud.google.com/gke-accelerator",
            "skypilot.co/accelerator",
            "amd.com/gpu.product-name",
        ]
        .iter()
        .find_map(|label| self.meta.labels.get(*label))
        .map(String::as_str)
    }

    /// Its state, one word.
    pub fn state(&self) -> &'static str {
        match (self.ready, self.cordoned) {
            (true, false) => "Ready",
            (true, true) => "Cordoned",
            (false, _) => "NotReady",
        }
    }
}

/// Whether a resource is an extended resource: its domain is not one of Kubernetes.
pub(crate) fn is_extended_resource(resource: &str) -> bool {
    resource.contains('/') && !resource.starts_with("kubernetes.io/")
}

impl Row for NodeRow {
    fn key(&self) -> &ObjectKey {
        &self.meta.key
    }
}
