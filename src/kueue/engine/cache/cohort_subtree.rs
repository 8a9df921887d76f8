//! [`CohortSubtree`]: quota, reservations and admitted workloads below a Cohort, for metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Cache, Drs, HierarchyNodeId};
use crate::resources::{Amount, FlavorResource};

/// Quota, reservations and admitted workloads below a Cohort.
#[derive(Clone, Debug, PartialEq)]
pub struct CohortSubtree {
    /// The Cohort.
    pub name: Arc<str>,
    /// Its parent, if it has one.
    pub parent: Option<Arc<str>>,
    /// The root of its tree.
    pub root: Arc<str>,
    /// The ClusterQueues below it.
    pub cluster_queues: Vec<Arc<str>>,
    /// The nominal quota of the subtree.
    pub quota: BTreeMap<FlavorResource, Amount>,
    /// The usage of all ClusterQueues of the subtree.
    pub reservations: BTreeMap<FlavorResource, Amount>,
    /// The number of admitted workloads of all ClusterQueues of the subtree.
    pub admitted_workloads: usize,
}

impl Cache {
    /// The subtrees of all Cohorts, explicit and implicit, without those in a cycle.
    pub fn cohort_subtrees(&self) -> Vec<CohortSubtree> {
        let cohorts = self.hierarchy.cohorts();
        cohorts
            .filter(|id| !self.hierarchy.has_cycle(*id))
            .map(|id| self.cohort_subtree(id))
            .collect()
    }

    fn cohort_subtree(&self, id: HierarchyNodeId) -> CohortSubtree {
        let hierarchy = &self.hierarchy;
        let mut subtree = CohortSubtree {
            name: hierarchy[id].name.clone(),
            parent: hierarchy.parent(id).map(|p| hierarchy[p].name.clone()),
            root: hierarchy[hierarchy.root(id)].name.clone(),
            cluster_queues: Vec::new(),
            quota: BTreeMap::new(),
            reservations: BTreeMap::new(),
            admitted_workloads: 0,
        };
        for (fr, amount) in hierarchy[id].resources.subtree_quotas() {
            subtree.quota.insert(hierarchy.frs.pair(fr).clone(), amount);
        }
        for queue in hierarchy.subtree_queues(id) {
            subtree.cluster_queues.push(hierarchy[queue].name.clone());
            for (fr, amount) in hierarchy[queue].resources.usages() {
                let total = subtree
                    .reservations
                    .entry(hierarchy.frs.pair(fr).clone())
                    .or_insert(Amount::ZERO);
                *total = total.plus(amount);
            }
            let queue = self.cluster_queue_by_node(queue);
            subtree.admitted_workloads += queue.map_or(0, |q| q.admitted_workloads);
        }
        subtree
    }

    /// The weighted share of a ClusterQueue or Cohort, infinite for one of weight zero that
    /// borrows.
    pub(crate) fn precise_weighted_share(&mut self, id: HierarchyNodeId) -> f64 {
        Drs::of(&mut self.hierarchy, id, None).precise_weighted_share()
    }
}
