//! Concurrent admission: migrates a workload from a less favorable variant to a more favorable
//! one.

use super::action::ActionKind;
use super::scheduling_cycle::SchedulingCycle;
use crate::cache::{HierarchyNodeId, WorkloadIndex};
use crate::concurrent_admission;
use crate::messages;
use crate::queue::{QuotaReservedReason as Reason, RequeueReason};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_reason::{InadmissibleCause, PendingEvictions};

impl SchedulingCycle<'_> {
    /// Admits an entry that fits, or first evicts an admitted less favorable variant.
    pub(super) fn admit_or_migrate(&mut self, i: usize, node: HierarchyNodeId) {
        let less_favorable_sibling = self.find_admitted_less_favorable_sibling(i, node);
        if let Some(idx) = less_favorable_sibling {
            if self.is_migration_allowed(i, node) {
                self.entries[i].quota_reserved_reason = Some(Reason::WaitingForPreemptedWorkloads);
                self.issue_migration(i, idx);
            } else {
                self.entries[i].quota_reserved_reason = Some(Reason::PendingEvaluation);
            }
            return;
        }
        self.admit(i, node);
    }

    fn issue_migration(&mut self, i: usize, idx: WorkloadIndex) {
        let Some(victim) = self.snapshot.workload(idx).map(|w| w.info.clone()) else {
            return;
        };
        let message = messages::migration(&self.entries[i].info.obj);
        let reason = c::evicted::FLAVOR_MIGRATION;
        self.evict(
            i,
            ActionKind::Migrate,
            &victim,
            reason,
            message,
            None,
            Vec::new(),
        );
        let entry = &mut self.entries[i];
        entry.info.last_assignment = None;
        entry.requeue_reason = RequeueReason::PendingMigration;
        entry.inadmissible.evictions = Some(PendingEvictions::Migration);
    }

    pub(super) fn has_admitted_more_favorable_sibling(
        &self,
        i: usize,
        node: HierarchyNodeId,
    ) -> bool {
        self.find_admitted_sibling(i, node, |sibling, own| own > sibling)
            .is_some()
    }

    fn find_admitted_less_favorable_sibling(
        &self,
        i: usize,
        node: HierarchyNodeId,
    ) -> Option<WorkloadIndex> {
        self.find_admitted_sibling(i, node, |sibling, own| sibling > own)
    }

    /// An admitted variant of the same workload in the ClusterQueue, selected by the flavor indexes
    /// of both; the first one by name.
    fn find_admitted_sibling(
        &self,
        i: usize,
        node: HierarchyNodeId,
        matches: impl Fn(usize, usize) -> bool,
    ) -> Option<WorkloadIndex> {
        let info = &self.entries[i].info;
        if !self.snapshot.config.gates.concurrent_admission {
            return None;
        }
        let (_, parent) =
            concurrent_admission::parent(&info.obj).filter(|(_, uid)| !uid.is_empty())?;
        let own = self.resolve_flavor_index(&info.obj, node)?;
        let siblings = self.snapshot.reserving_workloads(node).filter(|(_, w)| {
            let obj = &w.info.obj;
            w.info.uid() != info.uid()
                && concurrent_admission::parent(obj).is_some_and(|(_, uid)| uid == parent)
                && w.admitted
                && self
                    .resolve_flavor_index(obj, node)
                    .is_some_and(|index| matches(index, own))
        });
        siblings
            .min_by(|(_, a), (_, b)| a.info.key.cmp(&b.info.key))
            .map(|(idx, _)| idx)
    }

    /// The index of a variant's flavor in its ClusterQueue.
    fn resolve_flavor_index(&self, wl: &Workload, node: HierarchyNodeId) -> Option<usize> {
        let group = self.snapshot.cluster_queue(node)?.groups.first()?;
        let flavor = concurrent_admission::variant_flavor(wl)?;
        group.flavors.iter().position(|f| **f == *flavor)
    }

    /// Whether the concurrent admission policy of the ClusterQueue allows the migration.
    fn is_migration_allowed(&mut self, i: usize, node: HierarchyNodeId) -> bool {
        let Some(queue) = self.snapshot.cluster_queue(node) else {
            return false;
        };
        let policy = queue.concurrent_admission.as_ref();
        let Some(last) = policy.and_then(|p| p.last_acceptable_flavor.as_deref()) else {
            return true;
        };
        let Some(own) = self.resolve_flavor_index(&self.entries[i].info.obj, node) else {
            return false;
        };
        let flavors = queue
            .groups
            .first()
            .map(|g| g.flavors.as_slice())
            .unwrap_or_default();
        let acceptable = flavors.iter().position(|f| **f == *last);
        let too_far = acceptable.is_none_or(|at| own > at);
        if too_far {
            self.entries[i].inadmissible = InadmissibleCause::BelowLastAcceptableFlavor.into();
        }
        !too_far
    }
}
