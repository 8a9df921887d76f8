//! [`CohortTree`]: which ClusterQueues share quota.

use std::collections::BTreeMap;

use super::queue_fields::{Quota, quotas, text};
use crate::Manifest;

/// The longest path to a root; longer ones are cycles.
const MAX_DEPTH: usize = 64;

/// The ClusterQueues and Cohorts of a preset.
pub(super) struct CohortTree<'m> {
    queues: &'m [&'m Manifest],
    parents: BTreeMap<&'m str, &'m str>,
}

impl<'m> CohortTree<'m> {
    /// The tree of these objects.
    pub(super) fn new(queues: &'m [&'m Manifest], cohorts: &'m [&'m Manifest]) -> Self {
        let parent = |cohort: &&'m Manifest| {
            let parent = text(&cohort.object, "/spec/parentName");
            (!parent.is_empty()).then_some((cohort.key.name.as_str(), parent))
        };
        Self {
            queues,
            parents: cohorts.iter().filter_map(parent).collect(),
        }
    }

    /// The root of the cohort of a ClusterQueue; `None` without a cohort.
    fn root(&self, queue: &'m Manifest) -> Option<&'m str> {
        let mut cohort = text(&queue.object, "/spec/cohortName");
        for _ in 0..MAX_DEPTH {
            match self.parents.get(cohort) {
                Some(parent) => cohort = parent,
                None => break,
            }
        }
        (!cohort.is_empty()).then_some(cohort)
    }

    /// The other ClusterQueues below the same root.
    fn others(&self, queue: &'m Manifest) -> impl Iterator<Item = &'m Manifest> {
        let root = self.root(queue);
        let others = self.queues.iter().copied();
        others.filter(move |other| {
            let is_other = other.key.name != queue.key.name;
            is_other && root.is_some() && self.root(other) == root
        })
    }

    /// The first ClusterQueue that can borrow a quota of another one.
    pub(super) fn borrower(&self, queue: &'m Manifest, quota: &Quota<'_>) -> Option<&'m Manifest> {
        self.others(queue).find(|other| {
            let of_other = quotas(other);
            let mut shared = of_other.iter().filter(|q| q.is_shared_with(quota));
            shared.any(Quota::can_borrow)
        })
    }
}
