//! Construction of the cohort tree.

use std::collections::{BTreeMap, BTreeSet};

use kueue_lab_quota_tree::{FlavorResourceId, HierarchyNodeId, Quota};
use kueue_lab_reason::resources::ResourceName;

use super::{CohortTree, QuotaNode};
use crate::model::Row;
use crate::model::queues::{ClusterQueueRow, CohortRow, FlavorResource};

impl CohortTree {
    /// The tree of these ClusterQueues and Cohorts, with implicit Cohorts. A cycle of parents is cut
    /// and marked.
    pub(crate) fn build<'a>(
        queues: impl Iterator<Item = &'a ClusterQueueRow> + Clone,
        cohorts: impl Iterator<Item = &'a CohortRow> + Clone,
    ) -> Self {
        let mut tree = Self::default();
        let parents = cohorts.clone();
        let parents = parents.filter_map(|c| Some((c.key().name.as_str(), c.parent.as_deref()?)));
        let cycle = cohorts_in_cycle(&parents.collect());
        for cohort in cohorts {
            let name = &cohort.key().name;
            let id = tree.hierarchy.insert_cohort(name);
            let node = QuotaNode::Cohort(name.clone());
            let in_cycle = cycle.contains(name.as_str());
            if let Some(parent) = cohort.parent.as_deref().filter(|_| !in_cycle) {
                tree.hierarchy.set_parent(id, parent);
            }
            if in_cycle {
                tree.in_cycle.insert(node.clone());
            }
            tree.set_quotas(id, &cohort.quotas);
            tree.existing.insert(node);
        }
        for queue in queues {
            let name = &queue.key().name;
            let id = tree.hierarchy.insert_cluster_queue(name);
            if let Some(cohort) = &queue.cohort {
                tree.hierarchy.set_parent(id, cohort);
            }
            tree.set_quotas(id, &queue.quotas);
            for (fr, usage) in &queue.reservation {
                let usage = usage.to_quota(ResourceName::new(&fr.resource));
                let fr = tree.intern(fr);
                tree.hierarchy.add_usage(id, fr, usage);
            }
            let node = QuotaNode::ClusterQueue(name.clone());
            tree.existing.insert(node.clone());
            tree.ids.insert(node, id);
        }
        let cohorts: Vec<HierarchyNodeId> = tree.hierarchy.cohorts().collect();
        for id in cohorts {
            let name = tree.hierarchy[id].name.to_string();
            tree.ids.insert(QuotaNode::Cohort(name), id);
        }
        tree.names = tree
            .ids
            .iter()
            .map(|(node, id)| (*id, node.clone()))
            .collect();
        let roots = tree.ids.values().copied();
        let roots = roots.filter(|id| !tree.hierarchy.has_parent(*id));
        let roots: Vec<HierarchyNodeId> = roots.collect();
        for root in roots {
            tree.hierarchy.compute_tree(root);
        }
        tree
    }

    fn set_quotas(&mut self, id: HierarchyNodeId, quotas: &[(FlavorResource, Quota)]) {
        let quotas = quotas.iter().map(|(fr, quota)| (self.intern(fr), *quota));
        let quotas: Vec<(FlavorResourceId, Quota)> = quotas.collect();
        self.hierarchy.set_quotas(id, &quotas);
    }

    fn intern(&mut self, fr: &FlavorResource) -> FlavorResourceId {
        let resource = ResourceName::new(&fr.resource);
        let id = self.hierarchy.frs.intern(&fr.flavor, resource);
        if id.index() == self.frs.len() {
            self.frs.push(fr.clone());
        }
        id
    }
}

/// The Cohorts that are their own ancestors, of Cohorts with their parents.
fn cohorts_in_cycle<'a>(parents: &BTreeMap<&'a str, &'a str>) -> BTreeSet<&'a str> {
    let mut cycle = BTreeSet::new();
    for &start in parents.keys() {
        let mut seen = BTreeSet::new();
        let mut at = start;
        while let Some(&up) = parents.get(at) {
            if up == start {
                cycle.insert(start);
                break;
            }
            if !seen.insert(up) {
                break;
            }
            at = up;
        }
    }
    cycle
}
