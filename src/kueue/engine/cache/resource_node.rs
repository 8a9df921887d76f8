//! Quota and usage arithmetic on the cohort tree, as upstream's `resource_node.go`: subtree quota
//! accumulates from children to parents, usage above the local quota bubbles up to the parent.
//!
//! Must not depend on workloads or preemption policies.

use smallvec::SmallVec;

use super::hierarchy::{CohortHasCycle, CohortHierarchy, HierarchyNodeId, HierarchyNodeKind};
use crate::resources::{Amount, FlavorResourceId, FlavorResourceQuantities, ResourceName};

/// The quota of a node for one flavor resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The nominal quota.
    pub nominal: Amount,
    /// The maximum quota above nominal that may be borrowed; none means no limit.
    pub borrowing_limit: Option<Amount>,
    /// The maximum nominal quota that may be lent; none means all of it.
    pub lending_limit: Option<Amount>,
}

/// Quota and usage of a node for one flavor resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlavorResourceQuota {
    pub fr: FlavorResourceId,
    /// The quota of the node, if its spec has the flavor resource.
    pub quota: Option<Quota>,
    /// The nominal quota and what the children lend; none when no node of the subtree has the
    /// flavor resource.
    pub subtree: Option<Amount>,
    /// The usage, including that of children above their local quota.
    pub usage: Amount,
    /// The part of the subtree quota that is not lent to the parent.
    pub local_quota: Amount,
}

impl FlavorResourceQuota {
    pub(crate) fn new(fr: FlavorResourceId) -> Self {
        FlavorResourceQuota {
            fr,
            quota: None,
            subtree: None,
            usage: Amount::ZERO,
            local_quota: Amount::ZERO,
        }
    }

    pub(crate) fn subtree_quota(&self) -> Amount {
        self.subtree.unwrap_or(Amount::ZERO)
    }

    /// The unused local quota.
    pub(crate) fn local_available(&self) -> Amount {
        self.local_quota.minus(self.usage).or_zero()
    }

    /// Computes the local quota from the subtree quota.
    pub(crate) fn update_local_quota(&mut self) {
        self.local_quota = match self.quota.and_then(|q| q.lending_limit) {
            Some(limit) => self.subtree_quota().minus(limit).or_zero(),
            None => Amount::ZERO,
        };
    }
}

/// Quota and usage of a node by flavor resource, sorted.
#[derive(Clone, Debug, Default)]
pub struct ResourceNode {
    flavor_resources: Vec<FlavorResourceQuota>,
    /// Upstream's lendable: the potentially available quota of the subtree by resource, computed on
    /// demand.
    pub(super) lendable: Option<Vec<(ResourceName, Amount)>>,
}

impl ResourceNode {
    pub(super) fn flavor_resource(&self, fr: FlavorResourceId) -> Option<&FlavorResourceQuota> {
        // For few entries a linear search is as fast as a binary one.
        if self.flavor_resources.len() <= 8 {
            return self.flavor_resources.iter().find(|c| c.fr == fr);
        }
        self.flavor_resources
            .binary_search_by_key(&fr, |c| c.fr)
            .ok()
            .map(|i| &self.flavor_resources[i])
    }

    pub(super) fn flavor_resource_mut(&mut self, fr: FlavorResourceId) -> &mut FlavorResourceQuota {
        let i = match self.flavor_resources.binary_search_by_key(&fr, |c| c.fr) {
            Ok(i) => i,
            Err(i) => {
                self.flavor_resources
                    .insert(i, FlavorResourceQuota::new(fr));
                i
            }
        };
        &mut self.flavor_resources[i]
    }

    pub(super) fn flavor_resources(&self) -> &[FlavorResourceQuota] {
        &self.flavor_resources
    }

    /// The quota of the node for a flavor resource; zero when its spec has none.
    pub fn quota(&self, fr: FlavorResourceId) -> Quota {
        self.flavor_resource(fr)
            .and_then(|c| c.quota)
            .unwrap_or_default()
    }

    /// The flavor resources of the spec, with their quotas.
    pub fn quotas(&self) -> impl Iterator<Item = (FlavorResourceId, Quota)> + '_ {
        self.flavor_resources
            .iter()
            .filter_map(|c| Some((c.fr, c.quota?)))
    }

    /// The nominal quota and what the children lend.
    pub fn subtree_quota(&self, fr: FlavorResourceId) -> Amount {
        self.flavor_resource(fr)
            .map_or(Amount::ZERO, FlavorResourceQuota::subtree_quota)
    }

    /// The flavor resources of the subtree with their subtree quota.
    pub fn subtree_quotas(&self) -> impl Iterator<Item = (FlavorResourceId, Amount)> + '_ {
        self.flavor_resources
            .iter()
            .filter_map(|c| Some((c.fr, c.subtree?)))
    }

    /// The usage of a flavor resource.
    pub fn usage(&self, fr: FlavorResourceId) -> Amount {
        self.flavor_resource(fr).map_or(Amount::ZERO, |c| c.usage)
    }

    /// The usage of all flavor resources.
    pub fn usages(&self) -> impl Iterator<Item = (FlavorResourceId, Amount)> + '_ {
        self.flavor_resources.iter().map(|c| (c.fr, c.usage))
    }

    /// The unused local quota of a flavor resource.
    pub(crate) fn local_available(&self, fr: FlavorResourceId) -> Amount {
        self.flavor_resource(fr)
            .map_or(Amount::ZERO, FlavorResourceQuota::local_available)
    }

    /// Replaces the quotas; true when they changed.
    pub(super) fn set_quotas(&mut self, quotas: &[(FlavorResourceId, Quota)]) -> bool {
        let before: Vec<(FlavorResourceId, Quota)> = self.quotas().collect();
        for fr_quota in &mut self.flavor_resources {
            fr_quota.quota = None;
        }
        let mut quotas = quotas.to_vec();
        quotas.sort_by_key(|&(fr, _)| fr);
        self.merge(
            &quotas,
            |&(fr, _)| fr,
            |own, &(_, quota)| own.quota = Some(quota),
        );
        !before.iter().copied().eq(self.quotas())
    }

    /// Updates the flavor resources of items, which are sorted by flavor resource, in one pass. Missing
    /// ones are added.
    fn merge<T>(
        &mut self,
        items: &[T],
        fr: impl Fn(&T) -> FlavorResourceId,
        update: impl Fn(&mut FlavorResourceQuota, &T),
    ) {
        let own = std::mem::take(&mut self.flavor_resources);
        self.flavor_resources.reserve(own.len());
        let mut own = own.into_iter().peekable();
        for item in items {
            let fr = fr(item);
            while let Some(before) = own.next_if(|c| c.fr <= fr) {
                self.flavor_resources.push(before);
            }
            if self.flavor_resources.last().is_none_or(|c| c.fr != fr) {
                self.flavor_resources.push(FlavorResourceQuota::new(fr));
            }
            if let Some(last) = self.flavor_resources.last_mut() {
                update(last, item);
            }
        }
        self.flavor_resources.extend(own);
    }

    /// Resets the subtree quota to the nominal quota; for a cohort also the usage, which comes from
    /// its children.
    pub(super) fn reset_subtree_quota(&mut self, is_cohort: bool) {
        self.lendable = None;
        if is_cohort {
            self.flavor_resources.retain(|c| c.quota.is_some());
        }
        for fr_quota in &mut self.flavor_resources {
            fr_quota.subtree = fr_quota.quota.map(|q| q.nominal);
            if is_cohort {
                fr_quota.usage = Amount::ZERO;
            }
            fr_quota.update_local_quota();
        }
    }
}

/// Quota of the tree.
impl CohortHierarchy {
    /// Replaces the quotas of a node; true when they changed. The resources of the tree have to be
    /// updated afterwards.
    pub fn set_quotas(
        &mut self,
        id: HierarchyNodeId,
        quotas: &[(FlavorResourceId, Quota)],
    ) -> bool {
        self[id].resources.set_quotas(quotas)
    }

    /// Updates the subtree quota of a ClusterQueue without parent.
    pub(crate) fn update_cluster_queue_resource_node(&mut self, id: HierarchyNodeId) {
        let node = &mut self[id];
        node.generation += 1;
        node.resources.reset_subtree_quota(false);
    }

    /// Updates the subtree quota and usage of the tree of a node.
    ///
    /// # Errors
    /// When the node is in or below a cycle; nothing is updated then.
    pub(crate) fn update_cohort_tree_resources(
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

    /// Updates the subtree quota and usage of a subtree. The node must not be in a cycle.
    pub(crate) fn update_cohort_resource_node(&mut self, id: HierarchyNodeId) {
        if self[id].kind == HierarchyNodeKind::ClusterQueue {
            return self.update_cluster_queue_resource_node(id);
        }
        for cohort in self.subtree_cohorts(id).into_iter().rev() {
            self[cohort].resources.reset_subtree_quota(true);
            let node = &self[cohort];
            let children = node.child_cohorts.iter().chain(&node.child_queues);
            let children: Vec<HierarchyNodeId> = children.copied().collect();
            for &child in &children {
                if self[child].kind == HierarchyNodeKind::ClusterQueue {
                    self.update_cluster_queue_resource_node(child);
                }
            }
            let children = children.iter();
            let mut fr_quotas: Vec<FlavorResourceQuota> = children
                .flat_map(|&child| self[child].resources.flavor_resources())
                .copied()
                .collect();
            // Each child is sorted already; its order among the children stays.
            fr_quotas.sort_by_key(|c| c.fr);
            let resources = &mut self[cohort].resources;
            resources.merge(
                &fr_quotas,
                |c| c.fr,
                |total, child| {
                    if let Some(subtree) = child.subtree {
                        let lent = subtree.minus(child.local_quota);
                        total.subtree = Some(total.subtree_quota().plus(lent));
                    }
                    let used = child.usage.minus(child.local_quota).or_zero();
                    total.usage = total.usage.plus(used);
                },
            );
            for fr_quota in &mut resources.flavor_resources {
                fr_quota.update_local_quota();
            }
        }
    }

    /// The available quota of a node: its own and that of its cohort, within its borrowing limit.
    /// Negative when usage exceeds quota.
    pub fn available(&self, id: HierarchyNodeId, fr: FlavorResourceId) -> Amount {
        self.fold_from_root(id, fr, |fr_quota, from_parent| {
            let Some(mut from_parent) = from_parent else {
                return fr_quota.subtree_quota().minus(fr_quota.usage);
            };
            if let Some(limit) = fr_quota.quota.and_then(|q| q.borrowing_limit) {
                let stored_in_parent = fr_quota.subtree_quota().minus(fr_quota.local_quota);
                let used_in_parent = fr_quota.usage.minus(fr_quota.local_quota).or_zero();
                let most = stored_in_parent.minus(used_in_parent).plus(limit);
                from_parent = from_parent.min(most);
            }
            fr_quota.local_available().plus(from_parent)
        })
    }

    /// The available quota of a node without any usage.
    pub fn potential_available(&self, id: HierarchyNodeId, fr: FlavorResourceId) -> Amount {
        self.fold_from_root(id, fr, |fr_quota, from_parent| {
            let Some(from_parent) = from_parent else {
                return fr_quota.subtree_quota();
            };
            let available = fr_quota.local_quota.plus(from_parent);
            match fr_quota.quota.and_then(|q| q.borrowing_limit) {
                Some(limit) => available.min(fr_quota.subtree_quota().plus(limit)),
                None => available,
            }
        })
    }

    /// Folds a flavor resource from the root down to a node.
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
            let fr_quota = self[node]
                .resources
                .flavor_resource(fr)
                .copied()
                .unwrap_or(FlavorResourceQuota::new(fr));
            amount = Some(f(&fr_quota, amount));
        }
        amount.unwrap_or_default()
    }

    /// The potentially available quota of a cohort, by resource, summed over flavors.
    pub(crate) fn lendable(&mut self, id: HierarchyNodeId) -> &[(ResourceName, Amount)] {
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

    /// Whether the node borrows with `amount` more usage: above the nominal quota of a
    /// ClusterQueue, the subtree quota of a Cohort.
    pub(crate) fn borrowing_with(
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

    /// Whether requests fit the subtree quota of a node, and the part of them above its local
    /// quota.
    pub(crate) fn quantities_fit_in_quota(
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

    /// Whether the usage of a node is within its subtree quota for all these flavor resources.
    pub(crate) fn is_within_nominal(&self, id: HierarchyNodeId, frs: &[FlavorResourceId]) -> bool {
        let node = &self[id].resources;
        frs.iter()
            .all(|&fr| node.subtree_quota(fr) >= node.usage(fr))
    }

    /// The height of the lowest subtree of a ClusterQueue's ancestors that fits `amount` more, and
    /// whether it is smaller than the whole tree. 0 means no borrowing.
    pub(crate) fn height_of_lowest_subtree_that_fits(
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

/// Usage of the tree.
impl CohortHierarchy {
    /// Adds usage to a node; the part above its local quota is added to its parent.
    pub fn add_usage(&mut self, id: HierarchyNodeId, fr: FlavorResourceId, amount: Amount) {
        let (mut id, mut amount) = (id, amount);
        loop {
            let local = self.change_usage(id, fr, |fr_quota| {
                let local = fr_quota.local_available();
                fr_quota.usage = fr_quota.usage.plus(amount);
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

    /// Removes usage from a node; the part stored in its parent is removed first.
    pub fn remove_usage(&mut self, id: HierarchyNodeId, fr: FlavorResourceId, amount: Amount) {
        let (mut id, mut amount) = (id, amount);
        loop {
            let stored = self.change_usage(id, fr, |fr_quota| {
                let stored = fr_quota.usage.minus(fr_quota.local_quota);
                fr_quota.usage = fr_quota.usage.minus(amount);
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
        let fr_quota = self.nodes[id.index()].resources.flavor_resource_mut(fr);
        if let Some(journal) = &mut self.journal {
            journal.push((id, fr, fr_quota.usage));
        }
        f(fr_quota)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::test_fixtures::quota;
    use crate::resources::FlavorResourceTable;
    use proptest::prelude::*;

    /// ClusterQueues a and b in one cohort, with one flavor resource.
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
    fn the_quotas_of_children_are_added_in_any_order() {
        let mut frs = FlavorResourceTable::default();
        let frs: Vec<FlavorResourceId> = (0..20)
            .map(|flavor| frs.intern(&flavor.to_string(), "cpu".into()))
            .collect();
        let mut f = CohortHierarchy::default();
        let all = f.insert_cohort("all");
        f.set_quotas(all, &[(frs[7], quota(100, None, None))]);
        // The children share two flavors; the first child has those of the higher numbers.
        for (name, of_child) in [("a", &frs[9..]), ("b", &frs[..11])] {
            let id = f.insert_cluster_queue(name);
            f.set_parent(id, "all");
            let quotas = of_child.iter().rev();
            let quotas: Vec<_> = quotas.map(|&fr| (fr, quota(2, None, Some(1)))).collect();
            assert!(f.set_quotas(id, &quotas));
            assert!(!f.set_quotas(id, &quotas));
            for &fr in of_child {
                f.add_usage(id, fr, 3.into());
            }
        }
        f.update_cohort_tree_resources(all).unwrap();
        let node = &f[all].resources;
        assert!(node.flavor_resources().is_sorted_by(|a, b| a.fr < b.fr));
        for (flavor, &fr) in frs.iter().enumerate() {
            let children = if matches!(flavor, 9 | 10) { 2 } else { 1 };
            let own = if flavor == 7 { 100 } else { 0 };
            assert_eq!(node.subtree_quota(fr), (own + children).into());
            assert_eq!(node.usage(fr), (children * 2).into());
        }
    }

    #[test]
    fn unused_quota_may_be_borrowed() {
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
    fn lending_limit_reserves_local_quota() {
        let (mut f, fr, a, b) = pair(quota(10, None, Some(4)), quota(10, None, None));
        assert_eq!(f.available(b, fr), 14.into());
        f.add_usage(b, fr, 14.into());
        assert_eq!(f.available(a, fr), 6.into());
    }

    #[test]
    fn borrowing_limit_bounds_available_quota() {
        let (mut f, fr, _, b) = pair(quota(10, None, None), quota(10, Some(2), None));
        f.add_usage(b, fr, 11.into());
        assert_eq!(f.available(b, fr), 1.into());
    }

    proptest! {
        /// Usage kept incrementally equals usage recomputed, and a rollback restores it.
        #[test]
        fn incremental_usage_equals_recomputed_usage(
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
            let mut queue_usage = [0i64; 4];
            for &(i, amount, add) in &steps {
                if add {
                    queue_usage[i] += amount;
                    f.add_usage(queues[i], fr, amount.into());
                } else if queue_usage[i] >= amount {
                    queue_usage[i] -= amount;
                    f.remove_usage(queues[i], fr, amount.into());
                }
            }
            let nodes: Vec<HierarchyNodeId> = f.cohorts().chain(queues.iter().copied()).collect();
            let usages = |f: &CohortHierarchy| nodes.iter().map(|&n| f[n].resources.usage(fr)).collect::<Vec<_>>();
            let usage_before = usages(&f);
            f.begin();
            for &(i, amount, _) in &steps {
                f.remove_usage(queues[i], fr, amount.into());
            }
            f.roll_back();
            prop_assert_eq!(&usages(&f), &usage_before);
            f.update_cohort_tree_resources(queues[0]).unwrap();
            prop_assert_eq!(usages(&f), usage_before);
        }
    }
}
