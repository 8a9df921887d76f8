//! Reckoning on the forest: available, limit, borrowed, lent.

use super::{Cell, Forest, Member, Standing};
use crate::model::queues::FlavorResource;
use crate::text::Amount;

impl Cell {
    /// What is kept from the parent by the lending limit.
    pub(super) fn guaranteed(&self) -> Amount {
        match self.quota.lending_limit {
            Some(limit) => self.subtree.less(limit),
            None => Amount::ZERO,
        }
    }

    /// What is used above own quota.
    fn borrowed(&self) -> Amount {
        self.usage.less(self.subtree)
    }

    /// What is unused and may be lent.
    fn idle(&self) -> Amount {
        self.subtree.less(self.usage.max(self.guaranteed()))
    }
}

/// A least and a most.
type Range = (Amount, Amount);

impl Forest {
    /// How a resource in a flavor stands at a place.
    pub fn standing(&self, member: &Member, fr: &FlavorResource) -> Standing {
        let Some(&id) = self.ids.get(member) else {
            return Standing::default();
        };
        let cell = self.cell(id, fr);
        let (lent_min, lent_max) = self.lent(id, fr);
        Standing {
            nominal: cell.subtree,
            used: cell.usage,
            borrowed: cell.borrowed(),
            lent_min,
            lent_max,
            available: self.available(id, fr),
            limit: self.limit(id, fr),
            quota: cell.quota,
        }
    }

    fn cell(&self, id: usize, fr: &FlavorResource) -> Cell {
        self.nodes[id].cells.get(fr).copied().unwrap_or_default()
    }

    /// What could be used in addition right now; negative where too much is used already.
    fn available(&self, id: usize, fr: &FlavorResource) -> Amount {
        let cell = self.cell(id, fr);
        let Some(parent) = self.nodes[id].parent else {
            return cell.subtree.minus(cell.usage);
        };
        let mut from_parent = self.available(parent, fr);
        if let Some(limit) = cell.quota.borrowing_limit {
            let stored = cell.subtree.minus(cell.guaranteed());
            let taken = cell.usage.less(cell.guaranteed());
            from_parent = from_parent.min(stored.minus(taken).plus(limit));
        }
        cell.guaranteed().less(cell.usage).plus(from_parent)
    }

    /// What could be used if nothing else was.
    fn limit(&self, id: usize, fr: &FlavorResource) -> Amount {
        let cell = self.cell(id, fr);
        let Some(parent) = self.nodes[id].parent else {
            return cell.subtree;
        };
        let all = cell.guaranteed().plus(self.limit(parent, fr));
        match cell.quota.borrowing_limit {
            Some(limit) => all.min(cell.subtree.plus(limit)),
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
        let own_idle = self.cell(id, fr).idle();
        if own_idle.is_zero() {
            return (Amount::ZERO, Amount::ZERO);
        }
        let up = self.cell(parent, fr);
        let (up_min, up_max) = self.lent(parent, fr);
        let mut borrowed = Amount::ZERO;
        let mut covered = up.quota.nominal.plus(up.borrowed());
        for &sibling in self.nodes[parent].children.iter().filter(|s| **s != id) {
            let cell = self.cell(sibling, fr);
            borrowed = borrowed.plus(cell.borrowed());
            covered = covered.plus(cell.idle());
        }
        let most = own_idle.min(borrowed.plus(up_max));
        let least = borrowed.plus(up_min).less(covered).min(most);
        (least, most)
    }
}
