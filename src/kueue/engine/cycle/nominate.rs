//! Nominates heads: validates them and computes their flavor assignments and preemption targets.

use super::entry::Entry;
use super::scheduling_cycle::SchedulingCycle;
use crate::queue::{Head, QuotaReservedReason, RequeueReason};
use crate::workload::predicates;
use crate::workload::validate_admissibility::validate_admissibility;
use kueue_lab_reason::InadmissibleCause;

impl SchedulingCycle<'_> {
    /// Nominates the heads. Inadmissible ones go to `rejected`.
    pub fn nominate(&mut self, heads: Vec<Head>) {
        self.entries.reserve(heads.len());
        for head in heads {
            let cache = &self.snapshot.cache;
            let known = cache.node_of(&head.info.cluster_queue);
            let queue = known.and_then(|node| cache.cluster_queue_by_node(node));
            let holds_quota = queue.is_some_and(|q| q.reserving_workload(&head.info.key).is_some());
            if holds_quota && !predicates::needs_second_pass(&head.info.obj) {
                continue;
            }
            let node = known.filter(|&node| cache.hierarchy[node].active);
            let mut entry = Entry::new(head, node);
            match (self.inadmissible_reason(&mut entry), node) {
                (None, Some(node)) => {
                    let result = super::assignments::get_assignments(
                        &mut entry.info,
                        node,
                        self.number,
                        None,
                        &mut self.snapshot,
                    );
                    entry.record_assignment(result);
                    self.entries.push(entry);
                }
                (inadmissible, _) => {
                    if let Some((cause, reason)) = inadmissible {
                        entry.inadmissible = cause.into();
                        entry.quota_reserved_reason = Some(reason);
                    }
                    self.rejected.push(entry);
                }
            }
        }
    }

    /// The reason that an entry is inadmissible regardless of quota.
    fn inadmissible_reason(
        &self,
        entry: &mut Entry,
    ) -> Option<(InadmissibleCause, QuotaReservedReason)> {
        let name = || entry.info.cluster_queue.to_string();
        if predicates::has_failed_checks(&entry.info.obj) {
            let cause = InadmissibleCause::FailedAdmissionChecks;
            return Some((cause, QuotaReservedReason::PendingEvaluation));
        }
        if entry.node.is_none() && self.snapshot.is_inactive(&entry.info.cluster_queue) {
            let cause = InadmissibleCause::ClusterQueueInactive { name: name() };
            return Some((cause, QuotaReservedReason::Suspended));
        }
        let queue = entry
            .node
            .and_then(|node| self.snapshot.cluster_queue(node));
        let Some(queue) = queue else {
            let cause = InadmissibleCause::ClusterQueueNotInCache { name: name() };
            return Some((cause, QuotaReservedReason::Misconfigured));
        };
        let selector = &queue.namespace_selector;
        let cause =
            validate_admissibility(&entry.info.obj, selector, self.cluster_objects).err()?;
        if cause == InadmissibleCause::NamespaceMismatch {
            entry.requeue_reason = RequeueReason::NamespaceMismatch;
        }
        Some((cause, QuotaReservedReason::Misconfigured))
    }
}
