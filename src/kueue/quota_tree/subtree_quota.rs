//! Computes the subtree quota of the nodes of a tree: it accumulates from children to parents.
//!
//! Unlike upstream, a change of a node does not compute the whole tree again: what the node contributes to its
//! parent is replaced there, and so on up to the root. A tree that was in a cycle is computed from its leaves.

use super::hierarchy::{CohortHasCycle, CohortHierarchy, HierarchyNodeId, HierarchyNodeKind};
use crate::contribution::{Contribution, ContributionChange, contribution_changes};
use crate::flavor_resource::FlavorResourceId;
use crate::flavor_resource_quota::{FlavorResourceQuota, Quota};
use crate::resources::Amount;

/// A total after the change of one of its parts; none if the total may have been saturated.
fn changed_total(total: Amount, before: Amount, after: Amount) -> Option<Amount> {
    const LIMIT: u64 = 1 << 61;
    let is_exact = [total, before, after]
        .iter()
        .all(|amount| amount.value().unsigned_abs() < LIMIT);
    is_exact.then(|| total.minus(before).plus(after))
}

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
}
