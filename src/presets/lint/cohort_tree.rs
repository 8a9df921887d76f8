//! [`CohortTree`]: which ClusterQueues share quota.

use kueue_lab_api::cohort_parents::CohortParents;

use super::queue_fields::{Quota, quotas, text};
use crate::Manifest;

/// The ClusterQueues and Cohorts of a preset.
pub(super) struct CohortTree<'m> {
    queues: &'m [&'m Manifest],
    parents: CohortParents<'m>,
}

impl<'m> CohortTree<'m> {
    /// The tree of these objects.
    pub(super) fn new(queues: &'m [&'m Manifest], cohorts: &'m [&'m Manifest]) -> Self {
        Self {
            queues,
            parents: CohortParents::new(cohorts.iter().map(|cohort| &cohort.object)),
        }
    }

    /// The root of the cohort of a ClusterQueue; `None` without a cohort.
    fn root(&self, queue: &'m Manifest) -> Option<&'m str> {
        let cohort = text(&queue.object, "/spec/cohortName");
        (!cohort.is_empty()).then(|| self.parents.root(cohort))
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
