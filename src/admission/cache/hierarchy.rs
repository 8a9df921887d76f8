//! The forest of cohorts and ClusterQueues: quota lent upwards, usage carried upwards.
//!
//! A node's usage is its children's usage beyond what they never lend; adding and removing usage
//! keeps that true along the path to the root, so nothing is ever summed anew. Changes can be
//! recorded and rolled back, which is how a cycle tries preemptions on the live forest.
//!
//! Must not know of workloads or policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::resource_node::{FlavorResourceQuota, Quota, ResourceNode};
use crate::resources::{
    Amount, FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable, ResourceName,
};

/// A node of the forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HierarchyNodeId(u32);

impl HierarchyNodeId {
    /// The number, for indexing.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HierarchyNodeKind {
    /// A ClusterQueue.
    ClusterQueue,
    /// A cohort.
    Cohort,
}

/// A ClusterQueue or cohort with its place in the forest.
#[derive(Clone, Debug)]
pub struct HierarchyNode {
    /// Its name.
    pub name: Arc<str>,
    /// Which of the two it is.
    pub kind: HierarchyNodeKind,
    /// Its weight in fair sharing.
    pub weight: f64,
    /// Its quotas and usage.
    pub resources: ResourceNode,
    /// For a ClusterQueue: grows when more may fit than before.
    pub generation: i64,
    /// Whether the node takes part in the current cycle.
    pub active: bool,
    /// Distance to the furthest leaf, counting only what takes part in the current cycle.
    pub height: usize,
    parent: Option<HierarchyNodeId>,
    child_cohorts: Vec<HierarchyNodeId>,
    child_queues: Vec<HierarchyNodeId>,
    /// For a cohort: whether there is an object behind it.
    explicit: bool,
    cyclic: bool,
}

/// The cohort chain of a node leads back to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cohort has a cycle")]
pub struct CohortHasCycle;

/// All cohorts and ClusterQueues.
#[derive(Clone, Debug, Default)]
pub struct CohortHierarchy {
    /// The (flavor, resource) pairs quota and usage are counted in.
    pub frs: FlavorResourceTable,
    nodes: Vec<HierarchyNode>,
    free: Vec<HierarchyNodeId>,
    cohorts: BTreeMap<Arc<str>, HierarchyNodeId>,
    journal: Option<Vec<(HierarchyNodeId, FlavorResourceId, Amount)>>,
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

/// Structure.
impl CohortHierarchy {
    fn insert(&mut self, name: &str, kind: HierarchyNodeKind) -> HierarchyNodeId {
        let node = HierarchyNode {
            name: name.into(),
            kind,
            // A cohort without an object has no weight; it has no parent to share with either.
            weight: if kind == HierarchyNodeKind::Cohort {
                0.0
            } else {
                1.0
            },
            resources: ResourceNode::default(),
            generation: 0,
            active: false,
            height: 0,
            parent: None,
            child_cohorts: Vec::new(),
            child_queues: Vec::new(),
            explicit: false,
            cyclic: false,
        };
        if let Some(id) = self.free.pop() {
            self[id] = node;
            return id;
        }
        self.nodes.push(node);
        HierarchyNodeId(self.nodes.len() as u32 - 1)
    }

    /// A new node for a ClusterQueue, without a parent.
    pub fn insert_cluster_queue(&mut self, name: &str) -> HierarchyNodeId {
        self.insert(name, HierarchyNodeKind::ClusterQueue)
    }

    /// The node of a cohort, made if there is none; from now on it has an object behind it.
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

    /// Hangs a node below the cohort of this name, which comes to be if need be; below none when
    /// the name is empty. A cohort without an object and children goes away.
    pub fn set_parent(&mut self, id: HierarchyNodeId, parent: &str) {
        let now = self[id].parent.map_or("", |p| &*self[p].name);
        // A cohort must not go away and come back, without quota, under its only child.
        if now != parent {
            self.detach(id);
            if !parent.is_empty() {
                let parent = self.get_or_create_cohort(parent);
                self.attach(id, parent);
            }
        }
        match self[id].kind {
            // Nothing is below a ClusterQueue.
            HierarchyNodeKind::ClusterQueue => {
                let cyclic = self[id].parent.is_some_and(|p| self[p].cyclic);
                self[id].cyclic = cyclic;
            }
            HierarchyNodeKind::Cohort => self.find_cycles(),
        }
    }

    fn attach(&mut self, id: HierarchyNodeId, parent: HierarchyNodeId) {
        let name = self[id].name.clone();
        let siblings = self.siblings(id, parent);
        let at = siblings.partition_point(|&s| self[s].name < name);
        self.siblings_mut(id, parent).insert(at, id);
        self[id].parent = Some(parent);
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
        let Some(parent) = self[id].parent.take() else {
            return;
        };
        self.siblings_mut(id, parent).retain(|&s| s != id);
        let node = &self[parent];
        if !node.explicit && node.child_cohorts.is_empty() && node.child_queues.is_empty() {
            let name = node.name.clone();
            self.cohorts.remove(&name);
            self.free.push(parent);
        }
    }

    /// Takes a ClusterQueue out of the forest.
    pub fn remove_cluster_queue(&mut self, id: HierarchyNodeId) {
        self.detach(id);
        self.free.push(id);
    }

    /// Takes the object behind a cohort away: without children the cohort is gone, with children it
    /// stays, on top and without quota. Gives what remains of it.
    pub fn remove_cohort(&mut self, id: HierarchyNodeId) -> Option<HierarchyNodeId> {
        self.detach(id);
        let node = &mut self[id];
        node.explicit = false;
        let remains = !node.child_cohorts.is_empty() || !node.child_queues.is_empty();
        if remains {
            node.resources = ResourceNode::default();
            node.weight = 0.0;
        } else {
            let name = node.name.clone();
            self.cohorts.remove(&name);
            self.free.push(id);
        }
        self.find_cycles();
        remains.then_some(id)
    }

    /// Marks every node whose chain of parents never ends.
    fn find_cycles(&mut self) {
        let limit = self.cohorts.len() + 1;
        for i in 0..self.nodes.len() {
            let mut steps = 0;
            let mut at = self.nodes[i].parent;
            while let Some(id) = at {
                steps += 1;
                if steps > limit {
                    break;
                }
                at = self[id].parent;
            }
            self.nodes[i].cyclic = at.is_some();
        }
    }

    /// Whether the chain of parents never ends.
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

    /// The cohorts right below a cohort, by name.
    pub fn child_cohorts(&self, id: HierarchyNodeId) -> &[HierarchyNodeId] {
        &self[id].child_cohorts
    }

    /// The ClusterQueues right below a cohort, by name.
    pub fn child_queues(&self, id: HierarchyNodeId) -> &[HierarchyNodeId] {
        &self[id].child_queues
    }

    /// The cohorts above a node, from its parent to the root; none within a cycle.
    pub fn ancestors(&self, id: HierarchyNodeId) -> impl Iterator<Item = HierarchyNodeId> + '_ {
        let first = if self[id].cyclic {
            None
        } else {
            self[id].parent
        };
        std::iter::successors(first, |&id| self[id].parent)
    }

    /// The top of the tree a node is in: itself when it has no parent.
    pub fn root(&self, id: HierarchyNodeId) -> HierarchyNodeId {
        self.ancestors(id).last().unwrap_or(id)
    }

    /// The ClusterQueues of a subtree: those of the cohort itself first, then those of its child
    /// cohorts.
    pub fn subtree_queues(&self, id: HierarchyNodeId) -> Vec<HierarchyNodeId> {
        self.subtree_cohorts(id)
            .into_iter()
            .flat_map(|c| self[c].child_queues.iter().copied())
            .collect()
    }

    /// The cohorts of a subtree, parents before children. The cohort must not be in a cycle.
    fn subtree_cohorts(&self, id: HierarchyNodeId) -> Vec<HierarchyNodeId> {
        let mut order = Vec::new();
        let mut stack = vec![id];
        while let Some(at) = stack.pop() {
            order.push(at);
            stack.extend(self[at].child_cohorts.iter().rev());
        }
        order
    }

    /// Works out the height of every cohort, counting the ClusterQueues that are active.
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

/// Quota.
impl CohortHierarchy {
    /// Replaces the quotas of a node; true when they differ. The tree has to be summed up after.
    pub fn set_quotas(
        &mut self,
        id: HierarchyNodeId,
        quotas: &[(FlavorResourceId, Quota)],
    ) -> bool {
        self[id].resources.set_quotas(quotas)
    }

    /// Sums up quota and usage of a ClusterQueue without a parent.
    pub fn update_cluster_queue_resource_node(&mut self, id: HierarchyNodeId) {
        let node = &mut self[id];
        node.generation += 1;
        node.resources.reset_subtree_quota(false);
    }

    /// Sums up quota and usage of the whole tree a node is in.
    ///
    /// # Errors
    /// When the node is in or below a cycle; nothing is summed then.
    pub fn update_cohort_tree_resources(
        &mut self,
        id: HierarchyNodeId,
    ) -> Result<(), CohortHasCycle> {
        if self[id].cyclic {
            return Err(CohortHasCycle);
        }
        let root = self.root(id);
        self.update_cohort_resource_node(root);
        Ok(())
    }

    /// Sums up quota and usage of a subtree. The node must not be in a cycle.
    pub fn update_cohort_resource_node(&mut self, id: HierarchyNodeId) {
        if self[id].kind == HierarchyNodeKind::ClusterQueue {
            return self.update_cluster_queue_resource_node(id);
        }
        for cohort in self.subtree_cohorts(id).into_iter().rev() {
            self[cohort].resources.reset_subtree_quota(true);
            let children: Vec<HierarchyNodeId> = {
                let node = &self[cohort];
                node.child_cohorts
                    .iter()
                    .chain(&node.child_queues)
                    .copied()
                    .collect()
            };
            for child in children {
                if self[child].kind == HierarchyNodeKind::ClusterQueue {
                    self.update_cluster_queue_resource_node(child);
                }
                let cells: SmallVec<[FlavorResourceQuota; 8]> = self[child]
                    .resources
                    .flavor_resources()
                    .iter()
                    .copied()
                    .collect();
                for cell in cells {
                    let lent = cell.subtree.map(|s| s.minus(cell.local_quota));
                    let used = cell.usage.minus(cell.local_quota).or_zero();
                    let total = self[cohort].resources.flavor_resource_mut(cell.fr);
                    if let Some(lent) = lent {
                        total.subtree = Some(total.subtree_quota().plus(lent));
                    }
                    total.usage = total.usage.plus(used);
                }
            }
            self.update_local_quotas(cohort);
        }
    }

    fn update_local_quotas(&mut self, id: HierarchyNodeId) {
        let frs: SmallVec<[FlavorResourceId; 8]> = self[id]
            .resources
            .flavor_resources()
            .iter()
            .map(|c| c.fr)
            .collect();
        for fr in frs {
            self[id]
                .resources
                .flavor_resource_mut(fr)
                .update_local_quota();
        }
    }

    /// What is left for a node: its own and what its cohort has, within its borrowing limit. Below
    /// zero when more is used than there is.
    pub fn available(&self, id: HierarchyNodeId, fr: FlavorResourceId) -> Amount {
        self.fold_from_root(id, fr, |cell, from_parent| {
            let Some(mut from_parent) = from_parent else {
                return cell.subtree_quota().minus(cell.usage);
            };
            if let Some(limit) = cell.quota.and_then(|q| q.borrowing_limit) {
                let stored_in_parent = cell.subtree_quota().minus(cell.local_quota);
                let used_in_parent = cell.usage.minus(cell.local_quota).or_zero();
                let most = stored_in_parent.minus(used_in_parent).plus(limit);
                from_parent = from_parent.min(most);
            }
            cell.local_available().plus(from_parent)
        })
    }

    /// What there would be for a node if nothing were used.
    pub fn potential_available(&self, id: HierarchyNodeId, fr: FlavorResourceId) -> Amount {
        self.fold_from_root(id, fr, |cell, from_parent| {
            let Some(from_parent) = from_parent else {
                return cell.subtree_quota();
            };
            let available = cell.local_quota.plus(from_parent);
            match cell.quota.and_then(|q| q.borrowing_limit) {
                Some(limit) => available.min(cell.subtree_quota().plus(limit)),
                None => available,
            }
        })
    }

    /// Folds the state of a pair from the root down to a node.
    fn fold_from_root(
        &self,
        id: HierarchyNodeId,
        fr: FlavorResourceId,
        f: impl Fn(&FlavorResourceQuota, Option<Amount>) -> Amount,
    ) -> Amount {
        let path: SmallVec<[HierarchyNodeId; 8]> =
            std::iter::once(id).chain(self.ancestors(id)).collect();
        let mut amount = None;
        for &node in path.iter().rev() {
            let cell = self[node]
                .resources
                .flavor_resource(fr)
                .copied()
                .unwrap_or(FlavorResourceQuota::new(fr));
            amount = Some(f(&cell, amount));
        }
        amount.unwrap_or_default()
    }

    /// What the subtree of a cohort could hold at most, by resource, over all flavors.
    pub fn lendable(&mut self, id: HierarchyNodeId) -> &[(ResourceName, Amount)] {
        if self[id].resources.lendable.is_none() {
            let root = self.root(id);
            let mut lendable: Vec<(ResourceName, Amount)> = Vec::new();
            for (fr, _) in self[root].resources.subtree_quotas() {
                let resource = self.frs.resource(fr);
                let amount = self.potential_available(id, fr);
                match lendable.iter_mut().find(|(r, _)| *r == resource) {
                    Some((_, sum)) => *sum = sum.plus(amount),
                    None => lendable.push((resource, amount)),
                }
            }
            self[id].resources.lendable = Some(lendable);
        }
        self[id].resources.lendable.as_deref().unwrap_or_default()
    }

    fn acyclic_parent(&self, id: HierarchyNodeId) -> Option<HierarchyNodeId> {
        self[id].parent.filter(|_| !self[id].cyclic)
    }

    /// Whether usage of `amount` more goes beyond the node's quota: the nominal one of a
    /// ClusterQueue, the subtree quota of a cohort.
    pub fn borrowing_with(
        &self,
        id: HierarchyNodeId,
        fr: FlavorResourceId,
        amount: Amount,
    ) -> bool {
        let node = &self[id];
        let quota = match node.kind {
            HierarchyNodeKind::ClusterQueue => node.resources.quota(fr).nominal,
            HierarchyNodeKind::Cohort => node.resources.subtree_quota(fr),
        };
        quota < node.resources.usage(fr).plus(amount)
    }

    /// Whether requests fit the subtree quota of a node, and what of them its parent has to give.
    pub fn quantities_fit_in_quota(
        &self,
        id: HierarchyNodeId,
        requests: &FlavorResourceQuantities,
    ) -> (bool, FlavorResourceQuantities) {
        let node = &self[id].resources;
        let mut fits = true;
        let mut remaining = FlavorResourceQuantities::new();
        for (fr, amount) in requests.iter() {
            fits &= node.subtree_quota(fr) >= node.usage(fr).plus(amount);
            remaining.set(fr, amount.minus(node.local_available(fr)).or_zero());
        }
        (fits, remaining)
    }

    /// Whether a node uses no more than its subtree quota of all these pairs.
    pub fn is_within_nominal(&self, id: HierarchyNodeId, frs: &[FlavorResourceId]) -> bool {
        let node = &self[id].resources;
        frs.iter()
            .all(|&fr| node.subtree_quota(fr) >= node.usage(fr))
    }

    /// The height of the lowest subtree around a ClusterQueue that could hold `amount` more, and
    /// whether that is less than the whole tree. 0 means no borrowing.
    pub fn height_of_lowest_subtree_that_fits(
        &self,
        queue: HierarchyNodeId,
        fr: FlavorResourceId,
        amount: Amount,
    ) -> (usize, bool) {
        let has_parent = self.acyclic_parent(queue).is_some();
        if !has_parent || !self.borrowing_with(queue, fr, amount) {
            return (0, has_parent);
        }
        let mut remaining = amount.minus(self[queue].resources.local_available(fr));
        let mut root = queue;
        for cohort in self.ancestors(queue) {
            if !self.borrowing_with(cohort, fr, remaining) {
                return (self[cohort].height, self.has_parent(cohort));
            }
            remaining = remaining.minus(self[cohort].resources.local_available(fr));
            root = cohort;
        }
        (self[root].height, false)
    }
}

/// Usage.
impl CohortHierarchy {
    /// Adds usage to a node; what it cannot hold in quota it never lends goes to its parent.
    pub fn add_usage(&mut self, id: HierarchyNodeId, fr: FlavorResourceId, amount: Amount) {
        let (mut id, mut amount) = (id, amount);
        loop {
            let local = self.change_usage(id, fr, |cell| {
                let local = cell.local_available();
                cell.usage = cell.usage.plus(amount);
                local
            });
            match self.acyclic_parent(id) {
                Some(parent) if amount > local => {
                    amount = amount.minus(local);
                    id = parent;
                }
                _ => return,
            }
        }
    }

    /// Removes usage from a node; what its parent held for it goes first.
    pub fn remove_usage(&mut self, id: HierarchyNodeId, fr: FlavorResourceId, amount: Amount) {
        let (mut id, mut amount) = (id, amount);
        loop {
            let stored = self.change_usage(id, fr, |cell| {
                let stored = cell.usage.minus(cell.local_quota);
                cell.usage = cell.usage.minus(amount);
                stored
            });
            match self.acyclic_parent(id) {
                Some(parent) if stored.is_positive() => {
                    amount = amount.min(stored);
                    id = parent;
                }
                _ => return,
            }
        }
    }

    fn change_usage<T>(
        &mut self,
        id: HierarchyNodeId,
        fr: FlavorResourceId,
        f: impl FnOnce(&mut FlavorResourceQuota) -> T,
    ) -> T {
        let cell = self.nodes[id.index()].resources.flavor_resource_mut(fr);
        if let Some(journal) = &mut self.journal {
            journal.push((id, fr, cell.usage));
        }
        f(cell)
    }

    /// Starts recording changes of usage.
    pub fn begin(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// Puts back every usage changed since [`CohortHierarchy::begin`] and stops recording.
    pub fn roll_back(&mut self) {
        for (id, fr, usage) in self.journal.take().into_iter().flatten().rev() {
            self[id].resources.flavor_resource_mut(fr).usage = usage;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::FlavorResourceTable;
    use proptest::prelude::*;

    fn quota(nominal: i64, borrow: Option<i64>, lend: Option<i64>) -> Quota {
        Quota {
            nominal: nominal.into(),
            borrowing_limit: borrow.map(Amount::new),
            lending_limit: lend.map(Amount::new),
        }
    }

    /// Two ClusterQueues a and b in one cohort, on one pair.
    fn pair(
        a: Quota,
        b: Quota,
    ) -> (
        CohortHierarchy,
        FlavorResourceId,
        HierarchyNodeId,
        HierarchyNodeId,
    ) {
        let fr = FlavorResourceTable::default().intern("default", "cpu".into());
        let mut f = CohortHierarchy::default();
        let ids = [("a", a), ("b", b)].map(|(name, q)| {
            let id = f.insert_cluster_queue(name);
            f.set_parent(id, "all");
            f.set_quotas(id, &[(fr, q)]);
            id
        });
        f.update_cohort_tree_resources(ids[0]).unwrap();
        (f, fr, ids[0], ids[1])
    }

    #[test]
    fn others_may_use_what_is_not_used() {
        let (mut f, fr, a, b) = pair(quota(10, None, None), quota(10, None, None));
        f.add_usage(b, fr, 16.into());
        assert_eq!(f.available(a, fr), 4.into());
        assert_eq!(f.potential_available(a, fr), 20.into());
        f.measure_heights();
        assert_eq!(
            f.height_of_lowest_subtree_that_fits(a, fr, 10.into()),
            (0, true)
        );
    }

    #[test]
    fn lending_limit_keeps_a_part() {
        let (mut f, fr, a, b) = pair(quota(10, None, Some(4)), quota(10, None, None));
        assert_eq!(f.available(b, fr), 14.into());
        f.add_usage(b, fr, 14.into());
        assert_eq!(f.available(a, fr), 6.into());
    }

    #[test]
    fn borrowing_limit_bounds() {
        let (mut f, fr, _, b) = pair(quota(10, None, None), quota(10, Some(2), None));
        f.add_usage(b, fr, 11.into());
        assert_eq!(f.available(b, fr), 1.into());
    }

    #[test]
    fn cycles_are_seen_and_survived() {
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
    fn a_cohort_keeps_its_quota_when_its_only_child_is_read_again() {
        let mut forest = CohortHierarchy::default();
        let fr = forest.frs.intern("f", "cpu".into());
        let id = forest.insert_cluster_queue("a");
        forest.set_parent(id, "team");
        forest.set_quotas(id, &[(fr, quota(5, None, None))]);
        forest.update_cohort_tree_resources(id).unwrap();
        forest.set_parent(id, "team");
        assert_eq!(forest.potential_available(id, fr), 5.into());
    }

    #[test]
    fn implicit_cohorts_come_and_go() {
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

    proptest! {
        /// Usage carried along is what summing up gives, and rolling back restores it.
        #[test]
        fn usage_is_a_function_of_the_leaves(
            limits in proptest::collection::vec((0i64..20, proptest::option::of(0i64..20)), 4),
            steps in proptest::collection::vec((0usize..4, 1i64..15, any::<bool>()), 0..30),
        ) {
            let fr = FlavorResourceTable::default().intern("default", "cpu".into());
            let mut f = CohortHierarchy::default();
            let inner = f.insert_cohort("inner");
            f.set_quotas(inner, &[(fr, quota(3, None, limits[0].1))]);
            f.set_parent(inner, "top");
            let queues: Vec<HierarchyNodeId> = limits.iter().enumerate().map(|(i, &(nominal, lend))| {
                let id = f.insert_cluster_queue(&format!("q{i}"));
                f.set_parent(id, if i % 2 == 0 { "inner" } else { "top" });
                f.set_quotas(id, &[(fr, quota(nominal, None, lend))]);
                id
            }).collect();
            f.update_cohort_tree_resources(queues[0]).unwrap();
            let mut held = [0i64; 4];
            for &(i, amount, add) in &steps {
                if add {
                    held[i] += amount;
                    f.add_usage(queues[i], fr, amount.into());
                } else if held[i] >= amount {
                    held[i] -= amount;
                    f.remove_usage(queues[i], fr, amount.into());
                }
            }
            let nodes: Vec<HierarchyNodeId> = f.cohorts().chain(queues.iter().copied()).collect();
            let usages = |f: &CohortHierarchy| nodes.iter().map(|&n| f[n].resources.usage(fr)).collect::<Vec<_>>();
            let carried = usages(&f);
            f.begin();
            for &(i, amount, _) in &steps {
                f.remove_usage(queues[i], fr, amount.into());
            }
            f.roll_back();
            prop_assert_eq!(&usages(&f), &carried);
            f.update_cohort_tree_resources(queues[0]).unwrap();
            prop_assert_eq!(usages(&f), carried);
        }
    }
}
