//! [`ResourceNode`]: quota and usage of a node, as upstream's `resource_node.go`. The arithmetic on the tree is in
//! `subtree_quota.rs`, `available_quota.rs` and `usage.rs`.

use crate::contribution::{Contribution, ContributionChange};
use crate::flavor_resource::FlavorResourceId;
use crate::flavor_resource_quota::{FlavorResourceQuota, Quota};
use crate::lent_quota::LentQuota;
use crate::resources::{Amount, ResourceName};

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
    pub(crate) flavor_resources: Vec<FlavorResourceQuota>,
    /// For a cohort: what its children lend, sorted by flavor resource.
    lent: Vec<LentQuota>,
    /// Upstream's lendable: the potentially available quota of the subtree by resource, computed on
    /// demand, with the number of the update of the hierarchy in which it was computed.
    pub(crate) lendable: Option<(u64, Vec<(ResourceName, Amount)>)>,
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

    /// What the node contributes to its parent.
    pub(crate) fn contributions(&self) -> Vec<Contribution> {
        let all = self.flavor_resources.iter();
        all.map(FlavorResourceQuota::contribution).collect()
    }

    /// Computes the subtree quota from the quota of the node and what its children lend.
    pub(crate) fn update_subtree_quotas(&mut self) {
        let mut lent = self.lent.iter().peekable();
        for fr_quota in &mut self.flavor_resources {
            while lent.next_if(|lent| lent.fr < fr_quota.fr).is_some() {}
            let lent = lent.next_if(|lent| lent.fr == fr_quota.fr);
            fr_quota.update_subtree_quota(lent.and_then(LentQuota::amount));
        }
    }

    /// Applies changes of the contributions of children of a cohort, which are sorted by flavor resource, with the
    /// usage of the cohort after each. Returns the changes of its own contribution.
    pub(crate) fn change_children(
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
    pub(crate) fn set_children(&mut self, contributions: &[Contribution]) {
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
    pub(crate) fn remove_unused(&mut self) {
        self.lent.retain(|own| own.lenders > 0);
        self.flavor_resources
            .retain(|own| own.quota.is_some() || own.subtree.is_some() || !own.usage.is_zero());
    }
}
