//! What is available to a node of the tree, and whether requests fit.

use smallvec::SmallVec;

use super::hierarchy::{CohortHierarchy, HierarchyNodeId, HierarchyNodeKind};
use crate::flavor_resource::{FlavorResourceId, FlavorResourceQuantities};
use crate::flavor_resource_quota::FlavorResourceQuota;
use crate::resources::{Amount, ResourceName};

impl CohortHierarchy {
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
    pub fn lendable(&mut self, id: HierarchyNodeId) -> &[(ResourceName, Amount)] {
        let updates = self.updates;
        let known = self[id].resources.lendable.as_ref();
        if known.is_none_or(|(computed_in, _)| *computed_in != updates) {
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
            self[id].resources.lendable = Some((updates, lendable));
        }
        let known = self[id].resources.lendable.as_ref();
        known.map_or(&[], |(_, lendable)| lendable)
    }

    /// Whether the node borrows with `amount` more usage: above the nominal quota of a
    /// ClusterQueue, the subtree quota of a Cohort.
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

    /// Whether requests fit the subtree quota of a node, and the part of them above its local
    /// quota.
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

    /// Whether the usage of a node is within its subtree quota for all these flavor resources.
    pub fn is_within_nominal(&self, id: HierarchyNodeId, frs: &[FlavorResourceId]) -> bool {
        let node = &self[id].resources;
        frs.iter()
            .all(|&fr| node.subtree_quota(fr) >= node.usage(fr))
    }

    /// The height of the lowest subtree of a ClusterQueue's ancestors that fits `amount` more, and
    /// whether it is smaller than the whole tree. 0 means no borrowing.
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
