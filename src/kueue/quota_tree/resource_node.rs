//! Quota and usage arithmetic on the cohort tree, as upstream's `resource_node.go`: subtree quota
//! accumulates from children to parents, usage above the local quota bubbles up to the parent.
//!
//! Unlike upstream, a change of a node does not compute the whole tree again: what the node contributes to its
//! parent is replaced there, and so on up to the root. A tree that was in a cycle is computed from its leaves.
//!
//! Must not depend on workloads or preemption policies.

use smallvec::SmallVec;

use super::hierarchy::{CohortHasCycle, CohortHierarchy, HierarchyNodeId, HierarchyNodeKind};
use crate::flavor_resource::{FlavorResourceId, FlavorResourceQuantities};
use crate::resources::{Amount, ResourceName};

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
pub(crate) struct FlavorResourceQuota {
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

    /// What the node contributes to its parent.
    fn contribution(&self) -> Contribution {
        Contribution {
            fr: self.fr,
            lent: self.subtree.map(|subtree| subtree.minus(self.local_quota)),
            used: self.usage.minus(self.local_quota).or_zero(),
        }
    }

    /// Computes the subtree quota from the quota of the node and the quota that its children lend.
    fn update_subtree_quota(&mut self, lent: Option<Amount>) {
        let nominal = self.quota.map(|quota| quota.nominal);
        self.subtree = match (nominal, lent) {
            (Some(nominal), Some(lent)) => Some(nominal.plus(lent)),
            (nominal, lent) => nominal.or(lent),
        };
        self.update_local_quota();
    }

    /// Computes the local quota from the subtree quota.
    fn update_local_quota(&mut self) {
        self.local_quota = match self.quota.and_then(|q| q.lending_limit) {
            Some(limit) => self.subtree_quota().minus(limit).or_zero(),
            None => Amount::ZERO,
        };
    }
}

/// What a node contributes to its parent for one flavor resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Contribution {
    fr: FlavorResourceId,
    /// The subtree quota above the local quota; none when the subtree does not have the flavor resource.
    lent: Option<Amount>,
    /// The usage above the local quota.
    used: Amount,
}

impl Contribution {
    fn none(fr: FlavorResourceId) -> Self {
        FlavorResourceQuota::new(fr).contribution()
    }
}

/// A change of the contribution of a child.
#[derive(Clone, Copy, Debug)]
struct ContributionChange {
    before: Contribution,
    after: Contribution,
}

/// The differences of two lists that are sorted by flavor resource.
fn contribution_changes(
    before: &[Contribution],
    after: &[Contribution],
) -> Vec<ContributionChange> {
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    let mut changes = Vec::new();
    while let Some(fr) = before
        .peek()
        .into_iter()
        .chain(after.peek())
        .map(|c| c.fr)
        .min()
    {
        let none = Contribution::none(fr);
        let change = ContributionChange {
            before: *before.next_if(|c| c.fr == fr).unwrap_or(&none),
            after: *after.next_if(|c| c.fr == fr).unwrap_or(&none),
        };
        if change.before != change.after {
            changes.push(change);
        }
    }
    changes
}

/// The quota that the children of a cohort lend for one flavor resource.
#[derive(Clone, Copy, Debug)]
struct LentQuota {
    fr: FlavorResourceId,
    /// The children that have the flavor resource, and those of them that lend unlimited quota.
    lenders: u32,
    unlimited: u32,
    /// The sum of the others.
    sum: i128,
}

impl LentQuota {
    fn new(fr: FlavorResourceId) -> Self {
        Self {
            fr,
            lenders: 0,
            unlimited: 0,
            sum: 0,
        }
    }

    fn amount(&self) -> Option<Amount> {
        if self.lenders == 0 {
            return None;
        }
        if self.unlimited > 0 {
            return Some(Amount::UNLIMITED);
        }
        let bounds = (i128::from(i64::MIN), i128::from(i64::MAX));
        let sum = i64::try_from(self.sum.clamp(bounds.0, bounds.1));
        Some(sum.map_or(Amount::UNLIMITED, Amount::new))
    }

    fn add(&mut self, lent: Option<Amount>) {
        if let Some(lent) = lent {
            self.lenders += 1;
            match lent.is_unlimited() {
                true => self.unlimited += 1,
                false => self.sum += i128::from(lent.value()),
            }
        }
    }

    fn remove(&mut self, lent: Option<Amount>) {
        if let Some(lent) = lent {
            self.lenders = self.lenders.saturating_sub(1);
            match lent.is_unlimited() {
                true => self.unlimited = self.unlimited.saturating_sub(1),
                false => self.sum -= i128::from(lent.value()),
            }
        }
    }
}

/// A total after the change of one of its parts; none if the total may have been saturated.
fn changed_total(total: Amount, before: Amount, after: Amount) -> Option<Amount> {
    const LIMIT: u64 = 1 << 61;
    let is_exact = [total, before, after]
        .iter()
        .all(|amount| amount.value().unsigned_abs() < LIMIT);
    is_exact.then(|| total.minus(before).plus(after))
}

/// Updates the entries of items, which are sorted by flavor resource as the entries are, in one pass. Missing
/// entries are added.
fn merge<E, T>(
    entries: &mut Vec<E>,
    items: &[T],
    (entry_fr, new): (
        impl Fn(&E) -> FlavorResourceId,
        impl Fn(FlavorResourceId) -> E,
    ),
    item_fr: impl Fn(&T) -> FlavorResourceId,
    mut update: impl FnMut(&mut E, &T),
) {
    let before = std::mem::take(entries);
    entries.reserve(before.len());
    let mut before = before.into_iter().peekable();
    for item in items {
        let fr = item_fr(item);
        while let Some(entry) = before.next_if(|entry| entry_fr(entry) <= fr) {
            entries.push(entry);
        }
        if entries.last().is_none_or(|entry| entry_fr(entry) != fr) {
            entries.push(new(fr));
        }
        if let Some(last) = entries.last_mut() {
            update(last, item);
        }
    }
    entries.extend(before);
}

/// Quota and usage of a node by flavor resource, sorted.
#[derive(Clone, Debug, Default)]
pub struct ResourceNode {
    flavor_resources: Vec<FlavorResourceQuota>,
    /// For a cohort: what its children lend, sorted by flavor resource.
    lent: Vec<LentQuota>,
    /// Upstream's lendable: the potentially available quota of the subtree by resource, computed on
    /// demand, with the number of the update of the hierarchy in which it was computed.
    lendable: Option<(u64, Vec<(ResourceName, Amount)>)>,
}

impl ResourceNode {
    pub(crate) fn flavor_resource(&self, fr: FlavorResourceId) -> Option<&FlavorResourceQuota> {
        // For few entries a linear search is as fast as a binary one.
        if self.flavor_resources.len() <= 8 {
            return self.flavor_resources.iter().find(|c| c.fr == fr);
        }
        self.flavor_resources
            .binary_search_by_key(&fr, |c| c.fr)
            .ok()
            .map(|i| &self.flavor_resources[i])
    }

    pub(crate) fn flavor_resource_mut(&mut self, fr: FlavorResourceId) -> &mut FlavorResourceQuota {
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

    /// The part of the subtree quota of a flavor resource that is not lent to the parent.
    pub fn local_quota(&self, fr: FlavorResourceId) -> Amount {
        self.flavor_resource(fr)
            .map_or(Amount::ZERO, |c| c.local_quota)
    }

    /// The unused local quota of a flavor resource.
    pub fn local_available(&self, fr: FlavorResourceId) -> Amount {
        self.flavor_resource(fr)
            .map_or(Amount::ZERO, FlavorResourceQuota::local_available)
    }

    /// Replaces the quotas; true when they changed.
    pub(crate) fn set_quotas(&mut self, quotas: &[(FlavorResourceId, Quota)]) -> bool {
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

    /// Updates the flavor resources of items, which are sorted by flavor resource.
    fn merge<T>(
        &mut self,
        items: &[T],
        fr: impl Fn(&T) -> FlavorResourceId,
        update: impl FnMut(&mut FlavorResourceQuota, &T),
    ) {
        let entries = (|c: &FlavorResourceQuota| c.fr, FlavorResourceQuota::new);
        merge(&mut self.flavor_resources, items, entries, fr, update);
    }

    fn contributions(&self) -> Vec<Contribution> {
        let all = self.flavor_resources.iter();
        all.map(FlavorResourceQuota::contribution).collect()
    }

    /// Computes the subtree quota from the quota of the node and what its children lend.
    fn update_subtree_quotas(&mut self) {
        let mut lent = self.lent.iter().peekable();
        for fr_quota in &mut self.flavor_resources {
            while lent.next_if(|lent| lent.fr < fr_quota.fr).is_some() {}
            let lent = lent.next_if(|lent| lent.fr == fr_quota.fr);
            fr_quota.update_subtree_quota(lent.and_then(LentQuota::amount));
        }
    }

    /// Applies changes of the contributions of children of a cohort, which are sorted by flavor resource, with the
    /// usage of the cohort after each. Returns the changes of its own contribution.
    fn change_children(
        &mut self,
        changes: &[(ContributionChange, Amount)],
    ) -> Vec<ContributionChange> {
        let mut lent = Vec::with_capacity(changes.len());
        let entries = (|own: &LentQuota| own.fr, LentQuota::new);
        let fr = |(change, _): &(ContributionChange, Amount)| change.after.fr;
        merge(&mut self.lent, changes, entries, fr, |own, (change, _)| {
            own.remove(change.before.lent);
            own.add(change.after.lent);
            lent.push(own.amount());
        });
        let mut lent = lent.into_iter();
        let mut own_changes = Vec::new();
        self.merge(changes, fr, |own, &(_, usage)| {
            let before = own.contribution();
            own.usage = usage;
            own.update_subtree_quota(lent.next().flatten());
            let after = own.contribution();
            if before != after {
                own_changes.push(ContributionChange { before, after });
            }
        });
        self.remove_unused();
        own_changes
    }

    /// Computes a cohort from the contributions of all its children, sorted by flavor resource.
    fn set_children(&mut self, contributions: &[Contribution]) {
        self.lent.clear();
        for fr_quota in &mut self.flavor_resources {
            fr_quota.usage = Amount::ZERO;
        }
        let entries = (|own: &LentQuota| own.fr, LentQuota::new);
        merge(
            &mut self.lent,
            contributions,
            entries,
            |c| c.fr,
            |own, c| own.add(c.lent),
        );
        self.merge(
            contributions,
            |c| c.fr,
            |own, c| {
                own.usage = own.usage.plus(c.used);
            },
        );
        self.update_subtree_quotas();
        self.remove_unused();
    }

    /// Removes the flavor resources that a cohort has neither itself nor from its children.
    fn remove_unused(&mut self) {
        self.lent.retain(|own| own.lenders > 0);
        self.flavor_resources
            .retain(|own| own.quota.is_some() || own.subtree.is_some() || !own.usage.is_zero());
    }
}

/// Quota of the tree.
impl CohortHierarchy {
    /// Replaces the quotas of a node; true when they changed. The resources of the tree of this node have to be updated
    /// afterwards.
    pub fn set_quotas(
        &mut self,
        id: HierarchyNodeId,
        quotas: &[(FlavorResourceId, Quota)],
    ) -> bool {
        self[id].resources.set_quotas(quotas)
    }

    /// Updates the subtree quota of a ClusterQueue without parent.
    pub fn update_cluster_queue_resource_node(&mut self, id: HierarchyNodeId) {
        self[id].own_generation += 1;
        self.update_subtree_quotas(id);
    }

    /// Updates the subtree quota and usage of the tree of a node, whose quotas may have changed.
    ///
    /// # Errors
    /// When the node is in or below a cycle; nothing is updated then.
    pub fn update_cohort_tree_resources(
        &mut self,
        id: HierarchyNodeId,
    ) -> Result<(), CohortHasCycle> {
        if self[id].cyclic {
            return Err(CohortHasCycle);
        }
        let root = self.root(id);
        if self[root].kind == HierarchyNodeKind::ClusterQueue {
            self.update_cluster_queue_resource_node(root);
            return Ok(());
        }
        let is_current = self[id].is_current && self.ancestors(id).all(|a| self[a].is_current);
        if is_current {
            self[root].tree_updates += 1;
            let before = self[id].resources.contributions();
            self.update_subtree_quotas(id);
            let after = self[id].resources.contributions();
            self.change_ancestors(id, contribution_changes(&before, &after));
        } else {
            self.compute_tree(root);
        }
        Ok(())
    }

    /// Computes the subtree quota of a node from its own quota and what its children lend.
    fn update_subtree_quotas(&mut self, id: HierarchyNodeId) {
        self.count_visit();
        let node = &mut self[id];
        node.resources.update_subtree_quotas();
        if node.kind == HierarchyNodeKind::Cohort {
            node.resources.remove_unused();
        }
        self.updates += 1;
    }

    /// Computes the subtree quota and usage of a tree from its leaves. The root must not be in a cycle.
    pub fn compute_tree(&mut self, root: HierarchyNodeId) {
        if self[root].kind == HierarchyNodeKind::ClusterQueue {
            return self.update_cluster_queue_resource_node(root);
        }
        self[root].tree_updates += 1;
        for cohort in self.subtree_cohorts(root).into_iter().rev() {
            let node = &self[cohort];
            let children = node.child_cohorts.iter().chain(&node.child_queues);
            let children: Vec<HierarchyNodeId> = children.copied().collect();
            for &child in &children {
                if self[child].kind == HierarchyNodeKind::ClusterQueue {
                    self.update_subtree_quotas(child);
                }
            }
            let children = children.iter();
            let mut contributions: Vec<Contribution> = children
                .flat_map(|&child| &self[child].resources.flavor_resources)
                .map(FlavorResourceQuota::contribution)
                .collect();
            // Each child is sorted already; its order among the children stays.
            contributions.sort_by_key(|c| c.fr);
            self.count_visit();
            self[cohort].resources.set_children(&contributions);
            self[cohort].is_current = true;
        }
        self.updates += 1;
    }

    /// Adds what a node contributes to its new parent, or removes it from the parent of which it is no longer a
    /// child, and so on up to the root.
    pub(crate) fn change_parent_resources(&mut self, id: HierarchyNodeId, is_child: bool) {
        let contributions = self[id].resources.contributions();
        let changes = match is_child {
            true => contribution_changes(&[], &contributions),
            false => contribution_changes(&contributions, &[]),
        };
        self.change_ancestors(id, changes);
    }

    /// Applies changes of what a node contributes to its parent, up to the root or to a cohort that has to be
    /// computed from its children.
    fn change_ancestors(&mut self, id: HierarchyNodeId, mut changes: Vec<ContributionChange>) {
        let mut at = id;
        while let Some(cohort) = self.acyclic_parent(at)
            && !changes.is_empty()
            && self[cohort].is_current
        {
            let with_usage: Vec<(ContributionChange, Amount)> = changes
                .iter()
                .map(|change| (*change, self.usage_after(cohort, change)))
                .collect();
            self.count_visit();
            changes = self[cohort].resources.change_children(&with_usage);
            at = cohort;
        }
        self.updates += 1;
    }

    /// The usage of a cohort after a change of a child.
    fn usage_after(&self, cohort: HierarchyNodeId, change: &ContributionChange) -> Amount {
        let (fr, node) = (change.after.fr, &self[cohort]);
        let changed = changed_total(
            node.resources.usage(fr),
            change.before.used,
            change.after.used,
        );
        changed.unwrap_or_else(|| {
            let children = node.child_cohorts.iter().chain(&node.child_queues);
            let quotas = children.filter_map(|&child| self[child].resources.flavor_resource(fr));
            quotas.fold(Amount::ZERO, |sum, quota| {
                sum.plus(quota.contribution().used)
            })
        })
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
    use crate::flavor_resource::FlavorResourceTable;
    use crate::test_fixtures::quota;
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
            f.update_cohort_tree_resources(id).unwrap();
            id
        });
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
            f.update_cohort_tree_resources(id).unwrap();
            for &fr in of_child {
                f.add_usage(id, fr, 3.into());
            }
        }
        f.update_cohort_tree_resources(all).unwrap();
        let node = &f[all].resources;
        assert!(node.flavor_resources.is_sorted_by(|a, b| a.fr < b.fr));
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
                f.update_cohort_tree_resources(id).unwrap();
                id
            }).collect();
            f.update_cohort_tree_resources(inner).unwrap();
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
            f.compute_tree(f.root(inner));
            prop_assert_eq!(usages(&f), usage_before);
        }
    }

    /// The quotas, subtree quotas and usages of all nodes, without entries that are nothing.
    fn resources(f: &CohortHierarchy) -> Vec<String> {
        let nodes = f.nodes.iter().enumerate();
        nodes
            .map(|(index, node)| {
                let all = node.resources.flavor_resources.iter();
                let all =
                    all.filter(|c| c.quota.is_some() || c.subtree.is_some() || !c.usage.is_zero());
                format!("{index} {}: {:?}", node.name, all.collect::<Vec<_>>())
            })
            .collect()
    }

    #[test]
    fn the_updates_of_many_queues_visit_few_nodes() {
        let visits = |queues: usize| {
            let mut f = CohortHierarchy::default();
            let fr = f.frs.intern("default", "cpu".into());
            let team = f.insert_cohort("team");
            f.set_parent(team, "all");
            f.update_cohort_tree_resources(team).unwrap();
            for index in 0..queues {
                let id = f.insert_cluster_queue(&format!("q{index}"));
                f.set_parent(id, "team");
                for nominal in [3, 4] {
                    f.set_quotas(id, &[(fr, quota(nominal, None, None))]);
                    f.update_cohort_tree_resources(id).unwrap();
                }
                let cohort = f.insert_cohort(&format!("c{index}"));
                f.set_parent(cohort, "team");
                f.update_cohort_tree_resources(cohort).unwrap();
            }
            let all = f.cohort("all").unwrap();
            assert_eq!(
                f[all].resources.subtree_quota(fr),
                (4 * queues as i64).into()
            );
            f.visits
        };
        assert!(visits(10) > 10);
        assert!(visits(800) <= 80 * visits(10));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Parent(usize, usize),
        Quota(usize, usize, Option<Quota>),
        Usage(usize, usize, i64),
        RemoveCohort(usize),
        RemoveQueue(usize),
    }

    const COHORTS: usize = 5;
    const QUEUES: usize = 5;

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let amount = prop_oneof![0i64..20, Just(i64::MAX), Just(i64::MAX - 1)];
        let limit = proptest::option::of(0i64..20);
        let of_quota = (amount, limit.clone(), limit)
            .prop_map(|(nominal, borrowing, lending)| quota(nominal, borrowing, lending));
        let node = 0..COHORTS + QUEUES;
        let step = prop_oneof![
            3 => (node.clone(), 0..=COHORTS).prop_map(|(n, p)| Step::Parent(n, p)),
            4 => (node, 0usize..3, proptest::option::of(of_quota))
                .prop_map(|(n, fr, q)| Step::Quota(n, fr, q)),
            2 => (0..QUEUES, 0usize..3, prop_oneof![1i64..30, Just(i64::MAX / 2)])
                .prop_map(|(n, fr, a)| Step::Usage(n, fr, a)),
            1 => (0..COHORTS).prop_map(Step::RemoveCohort),
            1 => (0..QUEUES).prop_map(Step::RemoveQueue),
        ];
        proptest::collection::vec(step, 1..40)
    }

    proptest! {
        /// Resources that are updated by contributions are those that are computed from the leaves, and each update of
        /// a tree increments the generation of its ClusterQueues by one.
        #[test]
        fn updates_by_contributions_equal_computed_trees(steps in steps()) {
            let mut f = CohortHierarchy::default();
            let frs: Vec<_> = (0..3).map(|i| f.frs.intern(&format!("f{i}"), "cpu".into())).collect();
            let mut queues: Vec<HierarchyNodeId> =
                (0..QUEUES).map(|i| f.insert_cluster_queue(&format!("q{i}"))).collect();
            let mut generations = vec![0i64; QUEUES];
            let mut quotas = vec![std::collections::BTreeMap::new(); COHORTS + QUEUES];
            for step in steps {
                // As upstream's recursion from the root.
                let update = |f: &mut CohortHierarchy, queues: &[HierarchyNodeId], generations: &mut [i64], id| {
                    if f.update_cohort_tree_resources(id).is_err() {
                        return;
                    }
                    for (queue, generation) in queues.iter().zip(generations) {
                        if f.root(*queue) == f.root(id) {
                            *generation += 1;
                        }
                    }
                };
                let node = |f: &mut CohortHierarchy, queues: &[HierarchyNodeId], n: usize| match n.checked_sub(COHORTS) {
                    Some(queue) => queues[queue],
                    None => f.insert_cohort(&format!("c{n}")),
                };
                match step {
                    Step::Parent(n, parent) => {
                        let id = node(&mut f, &queues, n);
                        let old = f.parent(id).map(|p| f[p].name.clone());
                        let name = if parent == COHORTS { String::new() } else { format!("c{parent}") };
                        f.set_parent(id, &name);
                        if let Some(old) = old.filter(|old| **old != *name).and_then(|old| f.cohort(&old)) {
                            update(&mut f, &queues, &mut generations, old);
                        }
                        update(&mut f, &queues, &mut generations, id);
                    }
                    Step::Quota(n, fr, quota) => {
                        let id = node(&mut f, &queues, n);
                        match quota {
                            Some(quota) => quotas[n].insert(frs[fr], quota),
                            None => quotas[n].remove(&frs[fr]),
                        };
                        let all: Vec<_> = quotas[n].iter().map(|(fr, quota)| (*fr, *quota)).collect();
                        f.set_quotas(id, &all);
                        update(&mut f, &queues, &mut generations, id);
                    }
                    Step::Usage(queue, fr, amount) => f.add_usage(queues[queue], frs[fr], amount.into()),
                    Step::RemoveCohort(n) => {
                        if let Some(id) = f.cohort(&format!("c{n}")) {
                            quotas[n].clear();
                            let parent = f.parent(id).map(|p| f[p].name.clone());
                            if let Some(remains) = f.remove_cohort(id) {
                                update(&mut f, &queues, &mut generations, remains);
                            }
                            if let Some(parent) = parent.and_then(|parent| f.cohort(&parent)) {
                                update(&mut f, &queues, &mut generations, parent);
                            }
                        }
                    }
                    Step::RemoveQueue(n) => {
                        let parent = f.parent(queues[n]).map(|p| f[p].name.clone());
                        f.remove_cluster_queue(queues[n]);
                        quotas[COHORTS + n].clear();
                        generations[n] = 0;
                        queues[n] = f.insert_cluster_queue(&format!("q{n}"));
                        if let Some(parent) = parent.and_then(|parent| f.cohort(&parent)) {
                            update(&mut f, &queues, &mut generations, parent);
                        }
                    }
                }
                let roots: Vec<_> = f.cohorts().filter(|c| f.parent(*c).is_none()).collect();
                let mut computed = f.clone();
                let all: Vec<_> = f.cohorts().collect();
                for id in all {
                    if f.has_cycle(id) {
                        computed.nodes[id.index()].resources = f[id].resources.clone();
                    }
                }
                for root in roots {
                    computed.compute_tree(root);
                }
                prop_assert_eq!(resources(&f), resources(&computed));
                let now: Vec<i64> = queues.iter().map(|queue| f.generation(*queue)).collect();
                prop_assert_eq!(&now, &generations);
            }
        }
    }
}
