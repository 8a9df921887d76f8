//! Requests to requeue inadmissible workloads.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::cluster_queue::OrderContext;
use super::manager::QueueManager;
use crate::cache::CohortHierarchy;
use crate::cache::HierarchyNodeId;
use crate::cluster_objects::ClusterObjects;

/// The batch period of requests to requeue inadmissible workloads.
const REQUEUE_BATCH_PERIOD: SignedDuration = SignedDuration::from_secs(1);

/// A request to requeue inadmissible workloads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequeueRequest {
    /// Of a ClusterQueue without cohort.
    ClusterQueue(Arc<str>),
    /// Of all ClusterQueues below this root Cohort.
    Cohort(Arc<str>),
}

impl RequeueRequest {
    /// The request that requeues the inadmissible workloads of a ClusterQueue; none below a Cohort in a cycle.
    pub(crate) fn of(
        name: &Arc<str>,
        node: HierarchyNodeId,
        hierarchy: &CohortHierarchy,
    ) -> Option<Self> {
        match hierarchy.parent(node) {
            None => Some(RequeueRequest::ClusterQueue(name.clone())),
            Some(_) if hierarchy.has_cycle(node) => None,
            Some(_) => {
                let root = hierarchy[hierarchy.root(node)].name.clone();
                Some(RequeueRequest::Cohort(root))
            }
        }
    }
}

impl QueueManager {
    /// Requests that the inadmissible workloads of these ClusterQueues and their cohorts are
    /// requeued after the batch period. Cohorts in a cycle are skipped.
    pub fn notify_retry_inadmissible<'a>(
        &mut self,
        queues: impl IntoIterator<Item = &'a Arc<str>>,
        node_of: impl Fn(&str) -> Option<HierarchyNodeId>,
        hierarchy: &CohortHierarchy,
        now: Timestamp,
    ) {
        for name in queues {
            if !self.cluster_queues.contains_key(name) {
                continue;
            }
            let Some(node) = node_of(name) else { continue };
            if let Some(target) = RequeueRequest::of(name, node, hierarchy) {
                self.add_requeue_request(target, now);
            }
        }
    }

    /// Adds a request to requeue inadmissible workloads after the batch period. A pending request
    /// is not delayed.
    pub(crate) fn add_requeue_request(&mut self, target: RequeueRequest, now: Timestamp) {
        let due = now
            .saturating_add(REQUEUE_BATCH_PERIOD)
            .unwrap_or(Timestamp::MAX);
        let at = self.requeue_requests.entry(target).or_insert(due);
        *at = (*at).min(due);
    }

    /// The time at which a request is due, if it is pending.
    pub(crate) fn requeue_due(&self, target: &RequeueRequest) -> Option<Timestamp> {
        self.requeue_requests.get(target).copied()
    }

    /// The time at which the next request is due.
    pub(crate) fn next_requeue(&self) -> Option<Timestamp> {
        self.requeue_requests.values().min().copied()
    }

    /// Takes the requests that are due.
    pub fn take_due_requeue_requests(&mut self, now: Timestamp) -> Vec<RequeueRequest> {
        let due: Vec<RequeueRequest> = self
            .requeue_requests
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(t, _)| t.clone())
            .collect();
        due.iter().for_each(|t| {
            self.requeue_requests.remove(t);
        });
        due
    }

    /// Requeues inadmissible workloads; returns how many moved to the heap.
    pub fn requeue_inadmissible(
        &mut self,
        target: &RequeueRequest,
        hierarchy: &CohortHierarchy,
        cluster_objects: &ClusterObjects,
        ctx: OrderContext<'_>,
        now: Timestamp,
    ) -> usize {
        let names: BTreeSet<Arc<str>> = match target {
            RequeueRequest::ClusterQueue(name) => [name.clone()].into(),
            RequeueRequest::Cohort(name) => match hierarchy.cohort(name) {
                Some(root) if !hierarchy.has_cycle(root) => hierarchy
                    .subtree_queues(root)
                    .iter()
                    .map(|&q| hierarchy[q].name.clone())
                    .collect(),
                _ => return 0,
            },
        };
        let queues = names.iter();
        let mut moved = 0;
        for name in queues {
            if let Some(pending) = self.cluster_queues.get_mut(name) {
                moved += pending.requeue_inadmissible(cluster_objects, ctx, now);
            }
        }
        self.broadcast_if(moved > 0);
        moved
    }
}
