//! [`Borrowers`]: how much of a quota other ClusterQueues can borrow.

use std::collections::BTreeMap;

use kueue_lab_engine::cache::{CohortHierarchy, HierarchyNodeId, Quota};
use kueue_lab_engine::resources::{Amount, FlavorResourceId};

use super::engine_quotas::EngineQuotas;
use super::queue_fields::QuotaFields;
use crate::Manifest;

/// The ClusterQueues with workloads, in the cohort tree of a preset. Those in a cycle of Cohorts borrow nothing.
pub(super) struct Borrowers<'m> {
    engine: &'m EngineQuotas,
    /// In the order in which they were added to the tree.
    queues: BTreeMap<HierarchyNodeId, &'m Manifest>,
}

/// The ClusterQueues that may borrow.
type IsBorrower<'b> = &'b dyn Fn(HierarchyNodeId) -> bool;

impl<'m> Borrowers<'m> {
    /// The ClusterQueues with workloads among those of the tree.
    pub(super) fn new(engine: &'m EngineQuotas, queues: &[&'m Manifest]) -> Self {
        let queues = queues.iter().copied();
        let queues = queues.filter_map(|queue| Some((engine.node(queue)?, queue)));
        Self {
            engine,
            queues: queues.collect(),
        }
    }

    /// The ClusterQueues that can borrow all of a quota of a ClusterQueue: one, or as many as it takes. Empty if the limits do not let them.
    pub(super) fn of_all(&self, queue: &Manifest, quota: &QuotaFields<'_>) -> Vec<&'m Manifest> {
        let Some((id, fr)) = self.engine.find(queue, quota) else {
            return Vec::new();
        };
        let nominal = self.hierarchy()[id].resources.quota(fr).nominal;
        let by = |is_borrower: IsBorrower<'_>| self.borrowable(id, fr, is_borrower);
        let by_one = |one: HierarchyNodeId| by(&|other| other == one);
        let mut others = self.queues.iter();
        if let Some((_, one)) = others.find(|(other, _)| by_one(**other) >= nominal) {
            return vec![one];
        }
        if by(&|_| true) < nominal {
            return Vec::new();
        }
        let can_borrow = |other: HierarchyNodeId| by_one(other).is_positive();
        let others = self.queues.iter().filter(|(other, _)| can_borrow(**other));
        others.map(|(_, queue)| *queue).collect()
    }

    /// The highest amount that ClusterQueues can borrow from a child of a cohort.
    fn borrowable(
        &self,
        from: HierarchyNodeId,
        fr: FlavorResourceId,
        is_borrower: IsBorrower<'_>,
    ) -> Amount {
        let Some(cohort) = self.hierarchy().parent(from) else {
            return Amount::ZERO;
        };
        let within = self.demand(cohort, Some(from), fr, is_borrower);
        let above = self.borrowable(cohort, fr, is_borrower);
        let limit = self.hierarchy()[cohort].resources.quota(fr).lending_limit;
        within.plus(above.min(limit.unwrap_or(Amount::UNLIMITED)))
    }

    /// The most that the ClusterQueues below a cohort can borrow from outside of it, without those of the child
    /// `except`.
    fn demand(
        &self,
        cohort: HierarchyNodeId,
        except: Option<HierarchyNodeId>,
        fr: FlavorResourceId,
        is_borrower: IsBorrower<'_>,
    ) -> Amount {
        let hierarchy = self.hierarchy();
        let limit = |quota: Quota| quota.borrowing_limit.unwrap_or(Amount::UNLIMITED);
        let queues = hierarchy.child_queues(cohort).iter().copied();
        let queues = queues.filter(|queue| {
            Some(*queue) != except && self.queues.contains_key(queue) && is_borrower(*queue)
        });
        let of_queues = queues.map(|queue| {
            let mut quotas = hierarchy[queue].resources.quotas();
            let quota = quotas.find(|(number, _)| *number == fr);
            quota.map_or(Amount::ZERO, |(_, quota)| limit(quota))
        });
        let cohorts = hierarchy.child_cohorts(cohort).iter().copied();
        let cohorts = cohorts.filter(|child| Some(*child) != except);
        let of_cohorts = cohorts.map(|child| {
            let below = self.demand(child, None, fr, is_borrower);
            below.min(limit(hierarchy[child].resources.quota(fr)))
        });
        of_queues.chain(of_cohorts).fold(Amount::ZERO, Amount::plus)
    }

    fn hierarchy(&self) -> &CohortHierarchy {
        self.engine.hierarchy()
    }
}
