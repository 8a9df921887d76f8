//! [`NodesCache`]: the schedulable nodes, reduced to what TAS uses.
//!
//! Must not depend on topologies or usage.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Taint};

use crate::resources::Requests;
use kueue_lab_component_helpers::label_selector::Labels;
use kueue_lab_component_helpers::toleration::is_scheduling_taint;

/// The data of a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeInfo {
    /// Its name.
    pub(super) name: Arc<str>,
    /// Its labels.
    pub(super) labels: Labels,
    /// Its scheduling taints.
    pub(super) taints: Vec<Taint>,
    /// Its allocatable resources.
    pub(super) allocatable: Requests,
}

impl NodeInfo {
    fn of(node: &Node) -> Self {
        let status = node.status.as_ref();
        let taints = node.spec.as_ref().and_then(|s| s.taints.as_ref());
        NodeInfo {
            name: node.metadata.name.as_deref().unwrap_or_default().into(),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            taints: taints
                .into_iter()
                .flatten()
                .filter(|t| is_scheduling_taint(t))
                .cloned()
                .collect(),
            allocatable: status
                .and_then(|s| s.allocatable.as_ref())
                .map(Requests::from_list)
                .unwrap_or_default(),
        }
    }
}

/// Whether a node belongs to a flavor: it has the node labels of the flavor, and a label for each
/// level.
pub(super) fn node_belongs_to_flavor(labels: &Labels, flavor: &Labels, levels: &[String]) -> bool {
    // A missing label equals an empty one, as upstream.
    flavor
        .iter()
        .all(|(k, v)| labels.get(k).map_or("", String::as_str) == v)
        && levels.iter().all(|level| labels.contains_key(level))
}

/// Whether the node is ready and schedulable.
fn is_usable(node: &Node) -> bool {
    let cordoned = node.spec.as_ref().and_then(|s| s.unschedulable);
    let conditions = node.status.as_ref().and_then(|s| s.conditions.as_ref());
    // The first condition of a type counts.
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|c| c.type_ == "Ready");
    cordoned != Some(true) && ready.is_some_and(|c| c.status == "True")
}

/// The effect of an event on a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeChange {
    /// The previous version, if it was schedulable.
    pub(super) old: Option<Arc<NodeInfo>>,
    /// The current version, if it is schedulable.
    pub(super) new: Option<Arc<NodeInfo>>,
}

/// The ready, schedulable nodes by name.
#[derive(Clone, Debug, Default)]
pub(super) struct NodesCache(BTreeMap<Arc<str>, Arc<NodeInfo>>);

impl NodesCache {
    /// Adds or updates a node; none when nothing relevant changed (a heartbeat).
    pub(super) fn upsert(&mut self, node: &Node) -> Option<NodeChange> {
        if !is_usable(node) {
            return self.remove(node.metadata.name.as_deref().unwrap_or_default());
        }
        let new = Arc::new(NodeInfo::of(node));
        if self.0.get(&new.name) == Some(&new) {
            return None;
        }
        let old = self.0.insert(new.name.clone(), new.clone());
        Some(NodeChange {
            old,
            new: Some(new),
        })
    }

    /// Deletes a node; none when it was not schedulable.
    pub(super) fn remove(&mut self, name: &str) -> Option<NodeChange> {
        let old = self.0.remove(name)?;
        Some(NodeChange {
            old: Some(old),
            new: None,
        })
    }

    /// The nodes of a flavor, by name.
    pub(super) fn of_flavor<'a>(
        &'a self,
        flavor: &'a Labels,
        levels: &'a [String],
    ) -> impl Iterator<Item = &'a Arc<NodeInfo>> {
        self.0
            .values()
            .filter(move |n| node_belongs_to_flavor(&n.labels, flavor, levels))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// A ready node with labels and capacity.
    pub(in crate::tas) fn node(
        name: &str,
        labels: &[(&str, &str)],
        allocatable: &[(&str, &str)],
    ) -> Node {
        let map = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), json!(v)))
                .collect::<serde_json::Map<_, _>>()
        };
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": map(labels)},
            "status": {
                "allocatable": map(allocatable),
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }))
        .unwrap()
    }

    #[test]
    fn only_relevant_updates_are_changes() {
        let mut nodes = NodesCache::default();
        let mut n = node("x", &[("zone", "a")], &[("cpu", "4")]);
        assert!(nodes.upsert(&n).is_some());
        n.metadata.resource_version = Some("7".into());
        assert_eq!(nodes.upsert(&n), None);
        n.spec.get_or_insert_default().taints = Some(vec![Taint {
            key: "k".into(),
            effect: "PreferNoSchedule".into(),
            ..Default::default()
        }]);
        assert_eq!(
            nodes.upsert(&n),
            None,
            "PreferNoSchedule does not exclude pods"
        );
        n.spec.get_or_insert_default().unschedulable = Some(true);
        let change = nodes.upsert(&n).unwrap();
        assert!(change.old.is_some() && change.new.is_none());
        assert_eq!(nodes.upsert(&n), None);
    }

    #[test]
    fn a_node_needs_the_flavor_labels_and_a_label_per_level() {
        let labels: Labels = [("zone".into(), "a".into()), ("rack".into(), "1".into())].into();
        let flavor: Labels = [("zone".into(), "a".into())].into();
        assert!(node_belongs_to_flavor(&labels, &flavor, &["rack".into()]));
        assert!(!node_belongs_to_flavor(
            &labels,
            &flavor,
            &["rack".into(), "host".into()]
        ));
        let other: Labels = [("zone".into(), "b".into())].into();
        assert!(!node_belongs_to_flavor(&labels, &other, &["rack".into()]));
        let empty: Labels = [("gone".into(), String::new())].into();
        assert!(node_belongs_to_flavor(&labels, &empty, &[]));
    }
}
