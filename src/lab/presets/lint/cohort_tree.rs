//! [`CohortTree`]: how much of a quota other ClusterQueues can borrow.

use super::queue_fields::{Quota, amount, quotas};
use crate::Manifest;
use kueue_lab_json::ValueExt;

/// The longest path to a root. A longer one is a cycle, in which Kueue admits nothing.
const MAX_DEPTH: usize = 64;

/// The ClusterQueues with workloads, and the Cohorts of a preset.
pub(super) struct CohortTree<'m> {
    queues: &'m [&'m Manifest],
    cohorts: &'m [&'m Manifest],
}

/// The ClusterQueues that may borrow.
type IsBorrower<'b> = &'b dyn Fn(&Manifest) -> bool;

impl<'m> CohortTree<'m> {
    /// The tree of these objects.
    pub(super) fn new(queues: &'m [&'m Manifest], cohorts: &'m [&'m Manifest]) -> Self {
        Self { queues, cohorts }
    }

    /// The ClusterQueues that can borrow all of a quota of a ClusterQueue: one, or as many as it takes. Empty if
    /// the limits do not let them.
    pub(super) fn borrowers_of_all(
        &self,
        queue: &Manifest,
        quota: &Quota<'_>,
    ) -> Vec<&'m Manifest> {
        let borrowable = |is_borrower: IsBorrower<'_>| {
            let cohort = queue.object.text("/spec/cohortName");
            self.borrowable(cohort, &queue.key.name, quota, is_borrower, MAX_DEPTH)
        };
        let is_alone = |other: &Manifest| {
            let is_other = |queue: &Manifest| queue.key.name == other.key.name;
            borrowable(&is_other) >= quota.nominal()
        };
        let mut others = self.queues.iter().copied();
        if let Some(one) = others.find(|other| is_alone(other)) {
            return vec![one];
        }
        if borrowable(&|_| true) < quota.nominal() {
            return Vec::new();
        }
        let can_borrow = |other: &Manifest| {
            let is_other = |queue: &Manifest| queue.key.name == other.key.name;
            borrowable(&is_other) > 0
        };
        let others = self.queues.iter().copied();
        others.filter(|other| can_borrow(other)).collect()
    }

    /// The highest amount that ClusterQueues can borrow from the child `from` of a cohort.
    fn borrowable(
        &self,
        cohort: &str,
        from: &str,
        quota: &Quota<'_>,
        is_borrower: IsBorrower<'_>,
        depth: usize,
    ) -> i128 {
        if cohort.is_empty() || depth == 0 {
            return 0;
        }
        let within = self.demand(cohort, Some(from), quota, is_borrower, depth);
        let Some(object) = self.cohort(cohort) else {
            return within;
        };
        let parent = object.object.text("/spec/parentName");
        let above = self.borrowable(parent, cohort, quota, is_borrower, depth - 1);
        within.saturating_add(above.min(limit(object, quota, "lendingLimit")))
    }

    /// The most that the ClusterQueues below a cohort can borrow from outside of it, without those of the child
    /// `except`.
    fn demand(
        &self,
        cohort: &str,
        except: Option<&str>,
        quota: &Quota<'_>,
        is_borrower: IsBorrower<'_>,
        depth: usize,
    ) -> i128 {
        let Some(depth) = depth.checked_sub(1) else {
            return 0;
        };
        let is_child = |child: &&Manifest, field: &str| {
            child.object.text(field) == cohort && Some(child.key.name.as_str()) != except
        };
        let queues = self.queues.iter().copied();
        let queues = queues.filter(|queue| is_child(queue, "/spec/cohortName"));
        let of_queues = queues.filter(|queue| is_borrower(queue)).map(|queue| {
            let has_quota = quotas(queue).iter().any(|q| q.is_shared_with(quota));
            match has_quota {
                true => limit(queue, quota, "borrowingLimit"),
                false => 0,
            }
        });
        let cohorts = self.cohorts.iter().copied();
        let cohorts = cohorts.filter(|cohort| is_child(cohort, "/spec/parentName"));
        let of_cohorts = cohorts.map(|child| {
            let below = self.demand(&child.key.name, None, quota, is_borrower, depth);
            below.min(limit(child, quota, "borrowingLimit"))
        });
        of_queues.chain(of_cohorts).fold(0, i128::saturating_add)
    }

    fn cohort(&self, name: &str) -> Option<&'m Manifest> {
        self.cohorts.iter().copied().find(|c| c.key.name == name)
    }
}

/// A limit of a ClusterQueue or Cohort for the flavor and resource of a quota.
fn limit(object: &Manifest, quota: &Quota<'_>, field: &str) -> i128 {
    let all = quotas(object);
    let mut shared = all.iter().filter(|q| q.is_shared_with(quota));
    let limit = shared.find_map(|q| amount(q.fields, field));
    limit.unwrap_or(i128::MAX)
}
