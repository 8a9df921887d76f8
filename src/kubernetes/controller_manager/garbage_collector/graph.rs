//! The owner graph: objects by UID with their owners and dependents. Pure.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::discovery::GroupKind;

/// The finalizer of an owner that is deleted after its dependents.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner whose dependents are orphaned.
pub(super) const ORPHAN: &str = "orphan";

/// An object of the graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GraphNode {
    pub(super) kind: GroupKind,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) resource_version: String,
    pub(super) owners: Vec<OwnerReference>,
    pub(super) deleting: bool,
    pub(super) foreground: bool,
    pub(super) orphan: bool,
}

impl GraphNode {
    pub(super) fn of(kind: GroupKind, meta: &ObjectMeta) -> Self {
        let finalizers = meta.finalizers.as_deref().unwrap_or_default();
        let has = |wanted: &str| finalizers.iter().any(|f| f == wanted);
        Self {
            kind,
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
            owners: meta.owner_references.clone().unwrap_or_default(),
            deleting: meta.deletion_timestamp.is_some(),
            foreground: has(FOREGROUND),
            orphan: has(ORPHAN),
        }
    }

    /// Whether the object waits for the deletion of its dependents.
    pub(super) fn is_deleting_dependents(&self) -> bool {
        self.deleting && self.foreground
    }

    /// Whether the object waits until its dependents are orphaned.
    pub(super) fn is_orphaning_dependents(&self) -> bool {
        self.deleting && self.orphan
    }

    /// Whether this object blocks the deletion of the owner of that UID.
    fn blocks(&self, owner: &str) -> bool {
        let mut owners = self.owners.iter();
        owners.any(|o| o.uid == owner && o.block_owner_deletion == Some(true))
    }
}

/// The objects and their dependents.
#[derive(Default)]
pub(super) struct Graph {
    nodes: HashMap<String, GraphNode>,
    /// Dependents by the UID of an owner, known or not.
    dependents: HashMap<String, BTreeSet<String>>,
}

impl Graph {
    pub(super) fn get(&self, uid: &str) -> Option<&GraphNode> {
        self.nodes.get(uid)
    }

    /// The UIDs of the dependents of an owner.
    pub(super) fn dependents(&self, owner: &str) -> Vec<String> {
        let found = self.dependents.get(owner);
        found.into_iter().flatten().cloned().collect()
    }

    /// The UIDs of the dependents that block the deletion of their owner.
    pub(super) fn blocking_dependents(&self, owner: &str) -> Vec<String> {
        let mut found = self.dependents(owner);
        found.retain(|uid| self.nodes.get(uid).is_some_and(|n| n.blocks(owner)));
        found
    }

    /// Adds or updates an object; returns the UIDs to process because of it.
    pub(super) fn put(&mut self, uid: &str, new: GraphNode) -> Vec<String> {
        let old = self.nodes.insert(uid.to_string(), new.clone());
        let mut to_process = Vec::new();
        let owners = |node: &GraphNode| -> BTreeSet<String> {
            node.owners.iter().map(|o| o.uid.clone()).collect()
        };
        let before = old.as_ref().map(owners).unwrap_or_default();
        let after = owners(&new);
        for owner in before.difference(&after) {
            self.unlink(owner, uid);
        }
        for owner in &after {
            let dependents = self.dependents.entry(owner.clone()).or_default();
            dependents.insert(uid.to_string());
        }
        let references_changed = old.as_ref().is_none_or(|o| o.owners != new.owners);
        if references_changed {
            // Owners that waited for this object may be unblocked; new owners may be absent.
            let waiting = before.iter().filter(|o| self.waits_for_dependents(o));
            to_process.extend(waiting.cloned());
            if !new.owners.is_empty() && self.needs_processing(&new) {
                to_process.push(uid.to_string());
            }
        }
        let was = |which: fn(&GraphNode) -> bool| old.as_ref().is_some_and(which);
        if new.is_deleting_dependents() && !was(GraphNode::is_deleting_dependents) {
            to_process.extend(self.dependents(uid));
            to_process.push(uid.to_string());
        }
        if new.is_orphaning_dependents() && !was(GraphNode::is_orphaning_dependents) {
            to_process.push(uid.to_string());
        }
        to_process
    }

    /// Removes an object; returns the UIDs to process because of it.
    pub(super) fn remove(&mut self, uid: &str) -> Vec<String> {
        let Some(node) = self.nodes.remove(uid) else {
            return Vec::new();
        };
        let mut to_process = self.dependents(uid);
        for owner in &node.owners {
            self.unlink(&owner.uid, uid);
            if self.waits_for_dependents(&owner.uid) {
                to_process.push(owner.uid.clone());
            }
        }
        to_process
    }

    /// The UIDs of all objects of a kind.
    pub(super) fn of_kind(&self, kind: &GroupKind) -> BTreeSet<String> {
        let found = self.nodes.iter().filter(|(_, node)| node.kind == *kind);
        found.map(|(uid, _)| uid.clone()).collect()
    }

    fn waits_for_dependents(&self, uid: &str) -> bool {
        self.nodes
            .get(uid)
            .is_some_and(GraphNode::is_deleting_dependents)
    }

    /// Whether any owner is unknown or being deleted.
    fn needs_processing(&self, node: &GraphNode) -> bool {
        let mut owners = node.owners.iter();
        owners.any(|o| {
            self.nodes
                .get(&o.uid)
                .is_none_or(|owner| !is_solid(node, o, owner))
        })
    }

    fn unlink(&mut self, owner: &str, dependent: &str) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }
}

/// Whether a known object is the owner that `reference` of `dependent` means: of that kind and
/// name, and in a namespace that the dependent may refer to.
pub(super) fn owner_reference_matches(
    dependent: &GraphNode,
    reference: &OwnerReference,
    owner: &GraphNode,
) -> bool {
    let group = group_of(&reference.api_version);
    let visible = owner.namespace.is_empty() || owner.namespace == dependent.namespace;
    let (owner_group, owner_kind) = &owner.kind;
    visible && owner_group == group && *owner_kind == reference.kind && owner.name == reference.name
}

fn is_solid(dependent: &GraphNode, reference: &OwnerReference, owner: &GraphNode) -> bool {
    owner_reference_matches(dependent, reference, owner) && !owner.is_deleting_dependents()
}

/// The group in an `apiVersion`.
pub(super) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, owners: &[(&str, bool)]) -> GraphNode {
        let owners = owners.iter().map(|(owner, block)| OwnerReference {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: (*owner).into(),
            uid: (*owner).into(),
            controller: None,
            block_owner_deletion: Some(*block),
        });
        GraphNode {
            kind: (String::new(), "ConfigMap".into()),
            namespace: "n".into(),
            name: name.into(),
            resource_version: "1".into(),
            owners: owners.collect(),
            deleting: false,
            foreground: false,
            orphan: false,
        }
    }

    #[test]
    fn dependents_of_an_absent_owner_are_processed() {
        let mut graph = Graph::default();
        assert_eq!(graph.put("a", node("a", &[])), Vec::<String>::new());
        assert_eq!(
            graph.put("b", node("b", &[("a", true)])),
            Vec::<String>::new()
        );
        assert_eq!(graph.put("c", node("c", &[("x", true)])), ["c"]);
        assert_eq!(graph.remove("a"), ["b"]);
        assert_eq!(graph.dependents("a"), ["b"]);
        graph.remove("b");
        assert_eq!(graph.dependents("a"), Vec::<String>::new());
    }

    #[test]
    fn an_owner_waits_for_the_dependents_that_block_it() {
        let mut graph = Graph::default();
        graph.put("a", node("a", &[]));
        graph.put("b", node("b", &[("a", true)]));
        graph.put("c", node("c", &[("a", false)]));
        let deleting = GraphNode {
            deleting: true,
            foreground: true,
            ..node("a", &[])
        };
        assert_eq!(graph.put("a", deleting), ["b", "c", "a"]);
        assert_eq!(graph.blocking_dependents("a"), ["b"]);
        assert_eq!(graph.remove("b"), ["a"]);
        assert_eq!(graph.blocking_dependents("a"), Vec::<String>::new());
    }

    #[test]
    fn an_owner_of_another_kind_or_namespace_does_not_match() {
        let mut graph = Graph::default();
        let elsewhere = GraphNode {
            namespace: "other".into(),
            ..node("a", &[])
        };
        graph.put("a", elsewhere);
        assert_eq!(graph.put("b", node("b", &[("a", true)])), ["b"]);
    }
}
