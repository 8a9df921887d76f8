//! [`CohortHierarchy`]: the tree of Cohorts and ClusterQueues.
//!
//! The usage of a node includes the usage of its children above their local quota. Adding and
//! removing usage keeps that invariant along the path to the root, so usage is never recomputed.
//! Changes of usage can be journaled and rolled back, which is how a cycle simulates preemptions on
//! the live tree. Quota and usage arithmetic is in `subtree_quota.rs`, `available_quota.rs` and `usage.rs`.
//!
//! Must not depend on workloads or preemption policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::resource_node::ResourceNode;
use crate::flavor_resource::{FlavorResourceId, FlavorResourceTable};
use crate::resources::Amount;

/// The id of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HierarchyNodeId(u32);

impl HierarchyNodeId {
    /// The number, for indexing.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HierarchyNodeKind {
    /// A ClusterQueue.
    ClusterQueue,
    /// A cohort.
    Cohort,
}

/// A ClusterQueue or Cohort in the hierarchy.
#[derive(Clone, Debug)]
pub struct HierarchyNode {
    /// Its name.
    pub name: Arc<str>,
    /// Its kind.
    pub kind: HierarchyNodeKind,
    /// Its fair sharing weight.
    pub weight: f64,
    /// Its quotas and usage.
    pub resources: ResourceNode,
    /// For a ClusterQueue: the part of its generation that is not that of its tree.
    pub(crate) own_generation: i64,
    /// For a root: the updates of the resources of its tree, which count for the generation of each ClusterQueue.
    pub(crate) tree_updates: i64,
    /// Whether the node is active in the current cycle.
    pub active: bool,
    /// The distance to the furthest leaf that is active in the current cycle.
    pub height: usize,
    pub(crate) parent: Option<HierarchyNodeId>,
    pub(crate) child_cohorts: Vec<HierarchyNodeId>,
    pub(crate) child_queues: Vec<HierarchyNodeId>,
    /// For a Cohort: whether its object exists.
    explicit: bool,
    pub(crate) cyclic: bool,
    /// Whether the resources are the totals of the children; false for a Cohort that is or was in a cycle until its
    /// tree is computed.
    pub(crate) is_current: bool,
}

/// The cohort or one of its ancestors is in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cohort has a cycle")]
pub struct CohortHasCycle;

/// All Cohorts and ClusterQueues.
#[derive(Clone, Debug, Default)]
pub struct CohortHierarchy {
    /// The flavor resources of quota and usage.
    pub frs: FlavorResourceTable,
    pub(crate) nodes: Vec<HierarchyNode>,
    free: Vec<HierarchyNodeId>,
    cohorts: BTreeMap<Arc<str>, HierarchyNodeId>,
    pub(crate) journal: Option<Vec<(HierarchyNodeId, FlavorResourceId, Amount)>>,
    /// The number of updates of quota.
    pub(crate) updates: u64,
    /// The number of computations of the resources of a node.
    #[cfg(test)]
    pub(crate) visits: usize,
}

impl std::ops::Index<HierarchyNodeId> for CohortHierarchy {
    type Output = HierarchyNode;

    fn index(&self, id: HierarchyNodeId) -> &HierarchyNode {
        &self.nodes[id.index()]
    }
}

impl std::ops::IndexMut<HierarchyNodeId> for CohortHierarchy {
    fn index_mut(&mut self, id: HierarchyNodeId) -> &mut HierarchyNode {
        &mut self.nodes[id.index()]
    }
}

/// Structure of the tree.
impl CohortHierarchy {
    fn insert(&mut self, name: &str, kind: HierarchyNodeKind) -> HierarchyNodeId {
        let node = HierarchyNode {
            name: name.into(),
            kind,
            // An implicit cohort has no weight, and no parent.
            weight: if kind == HierarchyNodeKind::Cohort {
                0.0
            } else {
                1.0
            },
            resources: ResourceNode::default(),
            own_generation: 0,
            tree_updates: 0,
            active: false,
            height: 0,
            parent: None,
            child_cohorts: Vec::new(),
            child_queues: Vec::new(),
            explicit: false,
            cyclic: false,
            is_current: true,
        };
        if let Some(id) = self.free.pop() {
            self[id] = node;
            return id;
        }
        self.nodes.push(node);
        HierarchyNodeId(self.nodes.len() as u32 - 1)
    }

    /// Inserts a node for a ClusterQueue, without parent.
    pub fn insert_cluster_queue(&mut self, name: &str) -> HierarchyNodeId {
        self.insert(name, HierarchyNodeKind::ClusterQueue)
    }

    /// The node of a cohort whose object exists, created if needed.
    pub fn insert_cohort(&mut self, name: &str) -> HierarchyNodeId {
        let id = self.get_or_create_cohort(name);
        self[id].explicit = true;
        id
    }

    fn get_or_create_cohort(&mut self, name: &str) -> HierarchyNodeId {
        if let Some(&id) = self.cohorts.get(name) {
            return id;
        }
        let id = self.insert(name, HierarchyNodeKind::Cohort);
        let name = self[id].name.clone();
        self.cohorts.insert(name, id);
        id
    }

    /// The node of a cohort.
    pub fn cohort(&self, name: &str) -> Option<HierarchyNodeId> {
        self.cohorts.get(name).copied()
    }

    /// All cohorts, by name.
    pub fn cohorts(&self) -> impl Iterator<Item = HierarchyNodeId> + '_ {
        self.cohorts.values().copied()
    }

    /// Sets the parent of a node; an empty name means none. A missing cohort is created as an
    /// implicit one; an implicit cohort without children is removed.
    pub fn set_parent(&mut self, id: HierarchyNodeId, parent: &str) {
        let now = self[id].parent.map_or("", |p| &*self[p].name);
        // Do not remove and recreate, without quota, a cohort with a single child.
        if now != parent {
            self.detach(id);
            if !parent.is_empty() {
                let parent = self.get_or_create_cohort(parent);
                self.attach(id, parent);
            }
        }
    }

    fn attach(&mut self, id: HierarchyNodeId, parent: HierarchyNodeId) {
        if self[id].kind == HierarchyNodeKind::Cohort {
            self.move_tree_updates_to_queues(id);
            self.move_tree_updates_to_queues(parent);
        }
        let generation = self.generation(id);
        let name = self[id].name.clone();
        let siblings = self.siblings(id, parent);
        let at = siblings.partition_point(|&s| self[s].name < name);
        self.siblings_mut(id, parent).insert(at, id);
        self[id].parent = Some(parent);
        self.find_cycle(id);
        self.keep_generation(id, generation);
        self.change_parent_resources(id, true);
    }

    fn siblings(&self, id: HierarchyNodeId, parent: HierarchyNodeId) -> &Vec<HierarchyNodeId> {
        match self[id].kind {
            HierarchyNodeKind::ClusterQueue => &self[parent].child_queues,
            HierarchyNodeKind::Cohort => &self[parent].child_cohorts,
        }
    }

    fn siblings_mut(
        &mut self,
        id: HierarchyNodeId,
        parent: HierarchyNodeId,
    ) -> &mut Vec<HierarchyNodeId> {
        match self[id].kind {
            HierarchyNodeKind::ClusterQueue => &mut self[parent].child_queues,
            HierarchyNodeKind::Cohort => &mut self[parent].child_cohorts,
        }
    }

    fn detach(&mut self, id: HierarchyNodeId) {
        let Some(parent) = self[id].parent else {
            return;
        };
        if self[id].kind == HierarchyNodeKind::Cohort {
            self.move_tree_updates_to_queues(id);
        }
        let generation = self.generation(id);
        self.siblings_mut(id, parent).retain(|&s| s != id);
        self.change_parent_resources(id, false);
        self[id].parent = None;
        self.find_cycle(id);
        self.keep_generation(id, generation);
        let node = &self[parent];
        if !node.explicit && node.child_cohorts.is_empty() && node.child_queues.is_empty() {
            let name = node.name.clone();
            self.cohorts.remove(&name);
            self.free.push(parent);
        }
    }

    /// Removes a ClusterQueue.
    pub fn remove_cluster_queue(&mut self, id: HierarchyNodeId) {
        self.detach(id);
        self.free.push(id);
    }

    /// Removes the object of a cohort. Without children the node is removed; otherwise it becomes
    /// an implicit root cohort without quota, and is returned.
    pub fn remove_cohort(&mut self, id: HierarchyNodeId) -> Option<HierarchyNodeId> {
        self.detach(id);
        let node = &mut self[id];
        node.explicit = false;
        let remains = !node.child_cohorts.is_empty() || !node.child_queues.is_empty();
        if remains {
            node.resources.set_quotas(&[]);
            node.weight = 0.0;
        } else {
            let name = node.name.clone();
            self.cohorts.remove(&name);
            self.free.push(id);
        }
        remains.then_some(id)
    }

    /// Marks a node whose parent has changed, and the nodes below it, if their chain of parents is endless.
    fn find_cycle(&mut self, id: HierarchyNodeId) {
        let limit = self.cohorts.len() + 1;
        let chain = std::iter::successors(self[id].parent, |&at| self[at].parent);
        let is_endless = chain.take(limit + 1).count() > limit;
        let mut below = vec![id];
        while let Some(at) = below.pop() {
            // The nodes below a node have its mark.
            if self[at].cyclic != is_endless {
                self[at].cyclic = is_endless;
                self[at].is_current &= !is_endless;
                below.extend(&self[at].child_cohorts);
                below.extend(&self[at].child_queues);
            }
        }
    }

    /// The allocatable resource generation of a ClusterQueue: incremented when quota may have become available.
    pub fn generation(&self, queue: HierarchyNodeId) -> i64 {
        self[queue].own_generation + self[self.root(queue)].tree_updates
    }

    /// Increases the generation of a ClusterQueue, of which a workload released quota.
    pub fn increase_generation(&mut self, queue: HierarchyNodeId) {
        self[queue].own_generation += 1;
    }

    /// Gives a ClusterQueue, whose tree has changed, the generation that it had before.
    fn keep_generation(&mut self, id: HierarchyNodeId, generation: i64) {
        if self[id].kind == HierarchyNodeKind::ClusterQueue {
            self[id].own_generation += generation - self.generation(id);
        }
    }

    /// Counts the updates of the tree of a Cohort in its ClusterQueues, which keep them in another tree.
    fn move_tree_updates_to_queues(&mut self, id: HierarchyNodeId) {
        let root = self.root(id);
        let updates = std::mem::take(&mut self[root].tree_updates);
        if updates != 0 {
            for queue in self.subtree_queues(root) {
                self[queue].own_generation += updates;
            }
        }
    }

    /// Whether the chain of parents of a node is endless.
    pub fn has_cycle(&self, id: HierarchyNodeId) -> bool {
        self[id].cyclic
    }

    /// The parent of a node.
    pub fn parent(&self, id: HierarchyNodeId) -> Option<HierarchyNodeId> {
        self[id].parent
    }

    /// Whether a node has a parent.
    pub fn has_parent(&self, id: HierarchyNodeId) -> bool {
        self[id].parent.is_some()
    }

    /// The child Cohorts of a Cohort, by name.
    pub fn child_cohorts(&self, id: HierarchyNodeId) -> &[HierarchyNodeId] {
        &self[id].child_cohorts
    }

    /// The child ClusterQueues of a Cohort, by name.
    pub fn child_queues(&self, id: HierarchyNodeId) -> &[HierarchyNodeId] {
        &self[id].child_queues
    }

    /// The ancestors of a node, from its parent to the root; none in a cycle.
    pub fn ancestors(&self, id: HierarchyNodeId) -> impl Iterator<Item = HierarchyNodeId> + '_ {
        let first = if self[id].cyclic {
            None
        } else {
            self[id].parent
        };
        std::iter::successors(first, |&id| self[id].parent)
    }

    /// The root of the tree of a node: itself without a parent.
    pub fn root(&self, id: HierarchyNodeId) -> HierarchyNodeId {
        self.ancestors(id).last().unwrap_or(id)
    }

    /// The ClusterQueues of a subtree: those of the cohort first, then those of its child cohorts.
    pub fn subtree_queues(&self, id: HierarchyNodeId) -> Vec<HierarchyNodeId> {
        self.subtree_cohorts(id)
            .into_iter()
            .flat_map(|c| self[c].child_queues.iter().copied())
            .collect()
    }

    /// The cohorts of a subtree, parents before children. The cohort must not be in a cycle.
    pub(crate) fn subtree_cohorts(&self, id: HierarchyNodeId) -> Vec<HierarchyNodeId> {
        let mut order = Vec::new();
        let mut stack = vec![id];
        while let Some(at) = stack.pop() {
            order.push(at);
            stack.extend(self[at].child_cohorts.iter().rev());
        }
        order
    }

    /// Computes the height of every cohort from the active ClusterQueues.
    pub fn measure_heights(&mut self) {
        let roots: Vec<HierarchyNodeId> = self
            .cohorts()
            .filter(|&c| self[c].parent.is_none())
            .collect();
        for root in roots {
            for id in self.subtree_cohorts(root).into_iter().rev() {
                let node = &self[id];
                let queues = node.child_queues.iter().any(|&q| self[q].active);
                let below = node.child_cohorts.iter().map(|&c| self[c].height + 1).max();
                self[id].height = below.unwrap_or(0).max(usize::from(queues));
            }
        }
    }
}

/// The journal of usage changes.
impl CohortHierarchy {
    /// Counts a computation of the resources of a node.
    pub(crate) fn count_visit(&mut self) {
        #[cfg(test)]
        {
            self.visits += 1;
        }
    }

    pub(crate) fn acyclic_parent(&self, id: HierarchyNodeId) -> Option<HierarchyNodeId> {
        self[id].parent.filter(|_| !self[id].cyclic)
    }

    /// Starts the journal.
    pub fn begin(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// Restores the usage at the time of [`CohortHierarchy::begin`] and stops the journal.
    pub fn roll_back(&mut self) {
        for (id, fr, usage) in self.journal.take().into_iter().flatten().rev() {
            self[id].resources.flavor_resource_mut(fr).usage = usage;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::quota;

    #[test]
    fn cohort_cycles_are_detected() {
        let fr = FlavorResourceTable::default().intern("default", "cpu".into());
        let mut f = CohortHierarchy::default();
        let q = f.insert_cluster_queue("q");
        f.set_parent(q, "x");
        let x = f.insert_cohort("x");
        let y = f.insert_cohort("y");
        f.set_parent(x, "y");
        f.set_parent(y, "x");
        assert!(f.has_cycle(q) && f.has_cycle(x));
        assert_eq!(f.update_cohort_tree_resources(q), Err(CohortHasCycle));
        f.add_usage(q, fr, 5.into());
        let _ = (f.available(q, fr), f.root(q), f.ancestors(q).count());
        f.set_parent(y, "");
        assert!(!f.has_cycle(q));
        f.update_cohort_tree_resources(q).unwrap();
        assert_eq!(f[y].resources.usage(fr), 5.into());
    }

    #[test]
    fn a_cohort_keeps_its_quota_when_its_only_child_is_updated() {
        let mut hierarchy = CohortHierarchy::default();
        let fr = hierarchy.frs.intern("f", "cpu".into());
        let id = hierarchy.insert_cluster_queue("a");
        hierarchy.set_parent(id, "team");
        hierarchy.set_quotas(id, &[(fr, quota(5, None, None))]);
        hierarchy.update_cohort_tree_resources(id).unwrap();
        hierarchy.set_parent(id, "team");
        assert_eq!(hierarchy.potential_available(id, fr), 5.into());
    }

    #[test]
    fn implicit_cohorts_are_created_and_removed() {
        let mut f = CohortHierarchy::default();
        let q = f.insert_cluster_queue("q");
        f.set_parent(q, "team");
        assert!(f.cohort("team").is_some());
        f.set_parent(q, "");
        assert!(f.cohort("team").is_none());
        let team = f.insert_cohort("team");
        f.set_parent(q, "team");
        assert_eq!(f.remove_cohort(team), Some(team));
        f.remove_cluster_queue(q);
        assert!(f.cohort("team").is_none());
    }
}
