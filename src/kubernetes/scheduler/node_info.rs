//! The scheduler's view of a node: allocatable and requested resources, and its pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::ResourceExt;

use super::PodInfo;
use kueue_lab_component_helpers::label_selector::Labels;
use kueue_lab_component_helpers::resource_amounts::{PODS, ResourceAmounts};
use kueue_lab_controller_runtime::ObjectKey;

/// A node and its pods.
#[derive(Clone, Debug)]
pub(crate) struct NodeInfo {
    /// Its name.
    pub name: String,
    /// Allocatable resources.
    pub allocatable: ResourceAmounts,
    /// Sum of the requests of its pods.
    pub requested: ResourceAmounts,
    /// The pods on it.
    pub pods: BTreeMap<ObjectKey, Arc<PodInfo>>,
    /// Pods nominated to run on it.
    pub nominated: BTreeMap<ObjectKey, Arc<PodInfo>>,
    /// Maximum number of pods.
    pub max_pods: usize,
    /// The Node object; `None` while only pods on it are known.
    pub node: Option<Arc<Node>>,
}

impl NodeInfo {
    /// A node of which only the name is known.
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_string(),
            allocatable: ResourceAmounts::default(),
            requested: ResourceAmounts::default(),
            pods: BTreeMap::new(),
            nominated: BTreeMap::new(),
            max_pods: 0,
            node: None,
        }
    }

    /// Updates the Node object and the amounts derived from it.
    pub(crate) fn set_node(&mut self, node: Option<Arc<Node>>) {
        let status = node.as_ref().and_then(|n| n.status.as_ref());
        let allocatable = status.and_then(|s| s.allocatable.as_ref().or(s.capacity.as_ref()));
        self.allocatable = allocatable.map(ResourceAmounts::of).unwrap_or_default();
        self.max_pods = usize::try_from(self.allocatable.get(PODS)).unwrap_or(0);
        self.node = node;
    }

    /// Adds a pod.
    pub(crate) fn add(&mut self, pod: Arc<PodInfo>) {
        self.remove(&pod.key.clone());
        self.requested.add(&pod.requests);
        self.pods.insert(pod.key.clone(), pod);
    }

    /// Removes a pod.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<PodInfo>> {
        let pod = self.pods.remove(key)?;
        self.requested.sub(&pod.requests);
        Some(pod)
    }

    pub(super) fn labels(&self) -> &Labels {
        static NONE: Labels = Labels::new();
        self.node.as_ref().map_or(&NONE, |n| n.labels())
    }

    pub(super) fn taints(&self) -> &[Taint] {
        self.node
            .as_ref()
            .and_then(|n| n.spec.as_ref()?.taints.as_deref())
            .unwrap_or_default()
    }

    pub(super) fn unschedulable(&self) -> bool {
        let spec = self.node.as_ref().and_then(|n| n.spec.as_ref());
        spec.is_some_and(|s| s.unschedulable == Some(true))
    }

    /// Whether a pod on the node uses one of the host ports.
    pub(super) fn ports_conflict(&self, ports: &[(String, String, i32)]) -> bool {
        const ANY: &str = "0.0.0.0";
        let conflict = |a: &(String, String, i32), b: &(String, String, i32)| {
            a.1 == b.1 && a.2 == b.2 && (a.0 == b.0 || a.0 == ANY || b.0 == ANY)
        };
        !ports.is_empty()
            && self.pods.values().any(|pod| {
                pod.ports
                    .iter()
                    .any(|p| ports.iter().any(|q| conflict(p, q)))
            })
    }
}
