//! Borrowed and lent quota of a node. Kueue knows how much a node borrows, and not from whom.

use kueue_lab_quota_tree::{FlavorResourceId, HierarchyNodeId};
use kueue_lab_reason::resources::Amount;

use super::CohortTree;

/// Lower and upper bound of an amount.
#[derive(Clone, Copy, Default)]
pub(super) struct Bounds {
    pub(super) least: Amount,
    pub(super) most: Amount,
}

impl CohortTree {
    /// Usage above the subtree quota.
    pub(super) fn borrowed(&self, id: HierarchyNodeId, fr: FlavorResourceId) -> Amount {
        let node = &self.hierarchy[id].resources;
        node.usage(fr).minus(node.subtree_quota(fr)).or_zero()
    }

    /// Unused quota that can be lent.
    fn unused_lendable(&self, id: HierarchyNodeId, fr: FlavorResourceId) -> Amount {
        let node = &self.hierarchy[id].resources;
        let kept = node.usage(fr).max(node.local_quota(fr));
        node.subtree_quota(fr).minus(kept).or_zero()
    }

    /// The quota of a node that others use. Borrowing is covered by the parent's own quota, by what
    /// the parent borrows, and by unused quota of siblings. Kueue does not define the shares, hence
    /// bounds.
    pub(super) fn lent(&self, id: HierarchyNodeId, fr: FlavorResourceId) -> Bounds {
        let Some(parent) = self.hierarchy.parent(id) else {
            return Bounds::default();
        };
        let own_idle = self.unused_lendable(id, fr);
        if own_idle.is_zero() {
            return Bounds::default();
        }
        let above = self.lent(parent, fr);
        let mut borrowed = Amount::ZERO;
        let own_of_parent = self.hierarchy[parent].resources.quota(fr).nominal;
        let mut covered = own_of_parent.plus(self.borrowed(parent, fr));
        for sibling in self.children_of(parent).filter(|sibling| *sibling != id) {
            borrowed = borrowed.plus(self.borrowed(sibling, fr));
            covered = covered.plus(self.unused_lendable(sibling, fr));
        }
        let most = own_idle.min(borrowed.plus(above.most));
        let least = borrowed
            .plus(above.least)
            .minus(covered)
            .or_zero()
            .min(most);
        Bounds { least, most }
    }
}
