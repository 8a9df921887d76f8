//! Changes of the usage of the tree: usage above the local quota of a node bubbles up to its parent.

use super::hierarchy::{CohortHierarchy, HierarchyNodeId};
use crate::flavor_resource::FlavorResourceId;
use crate::flavor_resource_quota::FlavorResourceQuota;
use crate::resources::Amount;

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
