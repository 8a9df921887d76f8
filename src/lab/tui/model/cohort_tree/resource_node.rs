//! Quota arithmetic of the tree: available, potential available, borrowed, lent.

use super::{CohortTree, Quota, QuotaNode, QuotaStatus};
use crate::model::queues::FlavorResource;
use crate::text::Amount;

/// Quota and usage of one resource in one flavor at a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlavorResourceQuota {
    pub(super) quota: Quota,
    /// Own quota plus the quota that children lend.
    pub(super) subtree_quota: Amount,
    /// Own usage; for a Cohort the usage that its children borrow from it.
    pub(super) usage: Amount,
}

impl FlavorResourceQuota {
    /// Local quota: the part that the lending limit keeps from the parent.
    pub(super) fn local_quota(&self) -> Amount {
        match self.quota.lending_limit {
            Some(limit) => self.subtree_quota.minus_or_zero(limit),
            None => Amount::ZERO,
        }
    }

    /// Usage above the local quota.
    fn borrowed(&self) -> Amount {
        self.usage.minus_or_zero(self.subtree_quota)
    }

    /// Unused quota that can be lent.
    fn unused_lendable(&self) -> Amount {
        self.subtree_quota
            .minus_or_zero(self.usage.max(self.local_quota()))
    }
}

/// Lower and upper bound.
type Range = (Amount, Amount);

impl CohortTree {
    /// The quota status of a flavor and resource at a node.
    pub(crate) fn quota_status(&self, quota_node: &QuotaNode, fr: &FlavorResource) -> QuotaStatus {
        let Some(&id) = self.ids.get(quota_node) else {
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

    /// Quota that can be used in addition now; negative if usage exceeds the quota.
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

    /// Quota that can be used at most, if nothing else is used.
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

    /// The quota of a node that others use. Borrowing is covered by the parent's own quota, by what
    /// the parent borrows, and by unused quota of siblings. Kueue does not define the shares, hence
    /// a range.
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
