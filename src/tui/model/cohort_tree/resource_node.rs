//! Reckoning on the forest: available, limit, borrowed, lent.

use super::{CohortTree, FlavorResourceQuota, QuotaNode, QuotaStatus};
use crate::model::queues::FlavorResource;
use crate::text::Amount;

impl FlavorResourceQuota {
    /// What is kept from the parent by the lending limit.
    pub(super) fn local_quota(&self) -> Amount {
        match self.quota.lending_limit {
            Some(limit) => self.subtree_quota.minus_or_zero(limit),
            None => Amount::ZERO,
        }
    }

    /// What is used above own quota.
    fn borrowed(&self) -> Amount {
        self.usage.minus_or_zero(self.subtree_quota)
    }

    /// What is unused and may be lent.
    fn unused_lendable(&self) -> Amount {
        self.subtree_quota
            .minus_or_zero(self.usage.max(self.local_quota()))
    }
}

/// A least and a most.
type Range = (Amount, Amount);

impl CohortTree {
    /// How a resource in a flavor stands at a place.
    pub fn quota_status(&self, member: &QuotaNode, fr: &FlavorResource) -> QuotaStatus {
        let Some(&id) = self.ids.get(member) else {
            return QuotaStatus::default();
        };
        let cell = self.flavor_resource_quota(id, fr);
        let (lent_min, lent_max) = self.lent(id, fr);
        QuotaStatus {
            nominal: cell.subtree_quota,
            usage: cell.usage,
            borrowed: cell.borrowed(),
            lent_min,
            lent_max,
            available: self.available(id, fr),
            potential_available: self.potential_available(id, fr),
            quota: cell.quota,
        }
    }

    fn flavor_resource_quota(&self, id: usize, fr: &FlavorResource) -> FlavorResourceQuota {
        self.nodes[id]
            .resources
            .get(fr)
            .copied()
            .unwrap_or_default()
    }

    /// What could be used in addition right now; negative where too much is used already.
    fn available(&self, id: usize, fr: &FlavorResource) -> Amount {
        let cell = self.flavor_resource_quota(id, fr);
        let Some(parent) = self.nodes[id].parent else {
            return cell.subtree_quota.minus(cell.usage);
        };
        let mut from_parent = self.available(parent, fr);
        if let Some(limit) = cell.quota.borrowing_limit {
            let stored = cell.subtree_quota.minus(cell.local_quota());
            let taken = cell.usage.minus_or_zero(cell.local_quota());
            from_parent = from_parent.min(stored.minus(taken).plus(limit));
        }
        cell.local_quota()
            .minus_or_zero(cell.usage)
            .plus(from_parent)
    }

    /// What could be used if nothing else was.
    fn potential_available(&self, id: usize, fr: &FlavorResource) -> Amount {
        let cell = self.flavor_resource_quota(id, fr);
        let Some(parent) = self.nodes[id].parent else {
            return cell.subtree_quota;
        };
        let all = cell
            .local_quota()
            .plus(self.potential_available(parent, fr));
        match cell.quota.borrowing_limit {
            Some(limit) => all.min(cell.subtree_quota.plus(limit)),
            None => all,
        }
    }

    /// How much of a place's quota others use. What is borrowed at the parent is covered by the
    /// parent's own quota, by what the parent borrows itself, and by idle siblings; whose part is
    /// which is not decided by Kueue, hence a range.
    fn lent(&self, id: usize, fr: &FlavorResource) -> Range {
        let Some(parent) = self.nodes[id].parent else {
            return (Amount::ZERO, Amount::ZERO);
        };
        let own_idle = self.flavor_resource_quota(id, fr).unused_lendable();
        if own_idle.is_zero() {
            return (Amount::ZERO, Amount::ZERO);
        }
        let up = self.flavor_resource_quota(parent, fr);
        let (up_min, up_max) = self.lent(parent, fr);
        let mut borrowed = Amount::ZERO;
        let mut covered = up.quota.nominal.plus(up.borrowed());
        for &sibling in self.nodes[parent].children.iter().filter(|s| **s != id) {
            let cell = self.flavor_resource_quota(sibling, fr);
            borrowed = borrowed.plus(cell.borrowed());
            covered = covered.plus(cell.unused_lendable());
        }
        let most = own_idle.min(borrowed.plus(up_max));
        let least = borrowed.plus(up_min).minus_or_zero(covered).min(most);
        (least, most)
    }
}
