//! [`NonTasUsage`]: node usage of pods that TAS does not place, such as those of DaemonSets.
//!
//! Must not depend on topologies.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

use crate::kube::pod_requests::pod_requests;
use crate::resources::{Requests, ResourceName};
use kueue_lab_api::constants as c;

/// A non-TAS pod that uses a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NonTasPod {
    pub(super) node: String,
    pub(super) requests: Requests,
}

/// The effect of an event on a pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PodChange {
    pub(super) old: Option<NonTasPod>,
    pub(super) new: Option<NonTasPod>,
}

impl PodChange {
    /// The node whose capacity was released.
    pub(super) fn freed(&self) -> Option<&str> {
        let old = self.old.as_ref().filter(|old| !old.node.is_empty())?;
        let freed = self.new.as_ref().is_none_or(|new| {
            new.node != old.node || !old.requests.greater_keys(&new.requests).is_empty()
        });
        freed.then_some(old.node.as_str())
    }
}

/// Non-TAS pods, and their total usage of each node.
#[derive(Clone, Debug, Default)]
pub(super) struct NonTasUsage {
    pods: BTreeMap<(String, String), NonTasPod>,
    nodes: BTreeMap<String, Requests>,
}

/// Whether TAS places the pod: it has a topology annotation.
fn is_tas_pod(pod: &Pod) -> bool {
    let annotations = pod.metadata.annotations.as_ref();
    annotations.is_some_and(|a| {
        [
            c::POD_SET_PREFERRED_TOPOLOGY_ANNOTATION,
            c::POD_SET_REQUIRED_TOPOLOGY_ANNOTATION,
            c::POD_SET_UNCONSTRAINED_TOPOLOGY_ANNOTATION,
            c::POD_SET_SLICE_REQUIRED_TOPOLOGY_ANNOTATION,
            c::POD_SET_SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS_ANNOTATION,
        ]
        .into_iter()
        .any(|key| a.contains_key(key))
    })
}

/// The usage of a bound, running non-TAS pod.
fn non_tas_pod(pod: &Pod) -> Option<NonTasPod> {
    let spec = pod.spec.as_ref()?;
    let node = spec.node_name.as_deref().filter(|n| !n.is_empty())?;
    let phase = pod.status.as_ref().and_then(|s| s.phase.as_deref());
    let over = matches!(phase, Some("Failed" | "Succeeded"));
    (!over && !is_tas_pod(pod)).then(|| NonTasPod {
        node: node.to_owned(),
        requests: pod_requests(spec),
    })
}

impl NonTasUsage {
    /// Adds or updates a pod.
    pub(super) fn upsert(&mut self, pod: &Pod) -> PodChange {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let Some(new) = non_tas_pod(pod) else {
            return self.remove(namespace, name);
        };
        let key = (namespace.to_owned(), name.to_owned());
        let old = self.pods.insert(key, new.clone());
        if old.as_ref() == Some(&new) {
            return PodChange::default();
        }
        let change = PodChange {
            old,
            new: Some(new),
        };
        self.apply(&change);
        change
    }

    /// Deletes a pod.
    pub(super) fn remove(&mut self, namespace: &str, name: &str) -> PodChange {
        let key = (namespace.to_owned(), name.to_owned());
        let change = PodChange {
            old: self.pods.remove(&key),
            new: None,
        };
        self.apply(&change);
        change
    }

    fn apply(&mut self, change: &PodChange) {
        if let Some(new) = &change.new {
            let total = self.nodes.entry(new.node.clone()).or_default();
            total.add(&new.requests);
            total.add_one(ResourceName::pods(), 1);
        }
        if let Some(old) = &change.old
            && let Some(total) = self.nodes.get_mut(&old.node)
        {
            total.sub(&old.requests);
            total.add_one(ResourceName::pods(), -1);
            if total.get(ResourceName::pods()) <= 0 {
                self.nodes.remove(&old.node);
            }
        }
    }

    /// The total usage of each node, including `pods`.
    pub(super) fn by_node(&self) -> impl Iterator<Item = (&str, &Requests)> {
        self.nodes
            .iter()
            .map(|(node, usage)| (node.as_str(), usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(node: &str, cpu: &str, more: Value) -> Pod {
        let mut object = json!({
            "metadata": {"namespace": "ns", "name": "p"},
            "spec": {"nodeName": node, "containers": [
                {"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
        });
        json_patch::merge(&mut object, &more);
        serde_json::from_value(object).unwrap()
    }

    fn cpu(pods: &NonTasUsage, node: &str) -> Option<(i64, i64)> {
        let usage = pods.by_node().find(|(n, _)| *n == node)?.1;
        Some((usage.get("cpu".into()), usage.get("pods".into())))
    }

    #[test]
    fn pod_updates_change_node_usage() {
        let mut pods = NonTasUsage::default();
        assert_eq!(pods.upsert(&pod("x", "2", json!({}))).freed(), None);
        assert_eq!(cpu(&pods, "x"), Some((2000, 1)));
        assert_eq!(pods.upsert(&pod("x", "3", json!({}))).freed(), None);
        assert_eq!(pods.upsert(&pod("x", "1", json!({}))).freed(), Some("x"));
        assert_eq!(pods.upsert(&pod("x", "1", json!({}))), PodChange::default());
        assert_eq!(pods.upsert(&pod("y", "1", json!({}))).freed(), Some("x"));
        assert_eq!((cpu(&pods, "x"), cpu(&pods, "y")), (None, Some((1000, 1))));
        let over = pod("y", "1", json!({"status": {"phase": "Succeeded"}}));
        assert_eq!(pods.upsert(&over).freed(), Some("y"));
        assert_eq!(pods.remove("ns", "p"), PodChange::default());
        assert_eq!(pods.by_node().count(), 0);
    }

    #[test]
    fn tas_pods_are_ignored() {
        let mut pods = NonTasUsage::default();
        let placed = json!({"metadata": {"annotations": {
            "kueue.x-k8s.io/podset-unconstrained-topology": "true"}}});
        pods.upsert(&pod("x", "1", placed));
        pods.upsert(&pod("", "1", json!({})));
        assert_eq!(pods.by_node().count(), 0);
    }
}
