//! Processes one entry: updates its assignment, then admits it, issues its preemptions, or skips
//! it.

use super::entry::Entry;
use super::scheduling_cycle::{RecomputationResult, SchedulingCycle};
use crate::cache::{HierarchyNodeId, PreemptionPolicy, ResourceNode};
use crate::flavor_assigner::FlavorAssignmentMode;
use crate::queue::{QuotaReservedReason as Reason, RequeueReason};
use crate::resources::{Amount, FlavorResourceQuantities};
use crate::snapshot_transaction::FitsCheck;
use crate::workload::{Usage, predicates};
use crate::workload_slicing;
use kueue_lab_reason::InadmissibleCause;

/// Whether an entry is processed, or waits until the pods of all admitted workloads are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessResult {
    Done,
    WaitForPodsReady,
}

impl SchedulingCycle<'_> {
    /// Processes one entry.
    pub(super) fn process_entry(&mut self, i: usize) -> ProcessResult {
        self.entries[i].processed = true;
        let Some(node) = self.entries[i].node else {
            return ProcessResult::Done;
        };
        let gates = self.snapshot.config.gates.clone();
        let keep = gates.flavor_fungibility_preserve_scan_progress;
        if self.has_admitted_more_favorable_sibling(i, node) {
            let cause = InadmissibleCause::MoreFavorableVariant;
            self.entries[i].mark_skipped(cause, Reason::PendingEvaluation, keep);
            return ProcessResult::Done;
        }

        let (usage, fits) = self.update_assignment_if_needed(i, node);
        let entry = &mut self.entries[i];
        let mode = entry.assignment.mode();
        if gates.tas_failed_node_replacement_fail_fast
            && mode != FlavorAssignmentMode::Fit
            && predicates::has_topology_assignment_with_unhealthy_node(&entry.info.obj)
        {
            self.handle_failed_tas_replacement(i);
            return ProcessResult::Done;
        }
        if mode == FlavorAssignmentMode::NoFit {
            entry.requeue_reason = RequeueReason::NoFit;
            entry.quota_reserved_reason = entry.assignment.no_fit_reason;
            return ProcessResult::Done;
        }
        if mode == FlavorAssignmentMode::Preempt {
            if entry.targets.is_empty() {
                entry.requeue_reason = RequeueReason::PreemptionNoCandidates;
                entry.quota_reserved_reason = Some(Reason::WaitingForQuota);
                self.reserve_capacity_for_unreclaimable_preempt(i, node);
                return ProcessResult::Done;
            }
            let gated = gates.concurrent_admission || gates.multi_kueue_orchestrated_preemption;
            if gated && predicates::has_closed_preemption_gate(&entry.info.obj) {
                entry.mark_preemption_gated();
                return ProcessResult::Done;
            }
        }
        if mode == FlavorAssignmentMode::DeferredFit {
            // Another flavor may fit once the targets are preempted.
            entry.info.last_assignment = None;
            entry.inadmissible = InadmissibleCause::DeferredFit.into();
            entry.quota_reserved_reason = Some(Reason::WaitingForPreemptedWorkloads);
            entry.requeue_reason = RequeueReason::PendingPreemption;
            self.reserve_usage(i, node, usage);
            return ProcessResult::Done;
        }
        if self.preempted.has_any(&entry.targets) {
            let cause = InadmissibleCause::OverlappingTargets;
            entry.mark_skipped(cause, Reason::WaitingForQuota, keep);
            self.count_skipped(node);
            return ProcessResult::Done;
        }
        if !fits {
            let cause = InadmissibleCause::NoLongerFits;
            entry.mark_skipped(cause, Reason::WaitingForQuota, keep);
            if mode == FlavorAssignmentMode::Preempt {
                self.count_skipped(node);
            }
            return ProcessResult::Done;
        }
        self.preempted.insert(&entry.targets, &self.snapshot);
        self.reserve_usage(i, node, usage);
        let entry = &mut self.entries[i];
        let mut targets = entry.targets.clone();
        entry.replaced = workload_slicing::find_replaced_slice_target(
            &entry.info,
            &mut targets,
            &self.snapshot,
            &gates,
        );
        if mode == FlavorAssignmentMode::Preempt {
            entry.quota_reserved_reason = Some(Reason::WaitingForPreemptedWorkloads);
            self.issue_preemptions(i, node, &targets);
            return ProcessResult::Done;
        }
        if self.must_wait_for_pods_ready(i) {
            self.set_waiting_for_pods_ready(i);
            return ProcessResult::WaitForPodsReady;
        }
        self.admit_or_migrate(i, node);
        ProcessResult::Done
    }

    fn count_skipped(&mut self, node: HierarchyNodeId) {
        let name = self.snapshot.cache.hierarchy[node].name.clone();
        *self.counts.skipped_preemptions.entry(name).or_default() += 1;
    }

    fn reserve_usage(&mut self, i: usize, node: HierarchyNodeId, usage: Usage) {
        self.snapshot.add_usage(node, &usage);
        self.entries[i].reserved_usage = usage;
    }

    /// Updates the assignment if earlier entries of the cycle used its topology domains or preempt
    /// its targets. Returns its usage, and whether that fits once all targets are preempted.
    fn update_assignment_if_needed(&mut self, i: usize, node: HierarchyNodeId) -> (Usage, bool) {
        let gates = &self.snapshot.config.gates;
        let recompute_tas = gates.tas_recompute_assignment_within_scheduling_cycle;
        let recompute_overlap = gates.recompute_assignment_upon_preemption_targets_overlap;
        let usage = self.entries[i].usage(&self.snapshot);
        let check = self.fits_after_preemptions(i, node, &usage);
        let overlaps = recompute_overlap && self.preempted.has_any(&self.entries[i].targets);
        let tas_does_not_fit = recompute_tas && check == FitsCheck::NoTas;
        if !overlaps && !tas_does_not_fit {
            return (usage, check == FitsCheck::Ok);
        }
        let victims: Vec<_> = self.preempted.iter().filter(|_| overlaps).collect();
        for &idx in &victims {
            self.snapshot.remove_workload(idx);
        }
        let entry = &mut self.entries[i];
        // Tries all flavors of the nomination, and no others.
        entry.info.last_assignment = None;
        let nomination = entry.assignment.nomination();
        let result = super::assignments::get_assignments(
            &mut entry.info,
            node,
            self.number,
            Some(&nomination),
            &mut self.snapshot,
        );
        entry.record_assignment(result);
        for &idx in &victims {
            self.snapshot.add_workload(idx);
        }
        if overlaps && entry.assignment.mode() == FlavorAssignmentMode::Fit {
            entry.assignment.set_mode(FlavorAssignmentMode::DeferredFit);
        }
        let usage = self.entries[i].usage(&self.snapshot);
        let check = self.fits_after_preemptions(i, node, &usage);
        if overlaps {
            self.count_recomputation(i, node, check);
        }
        (usage, check == FitsCheck::Ok)
    }

    fn fits_after_preemptions(
        &mut self,
        i: usize,
        node: HierarchyNodeId,
        usage: &Usage,
    ) -> FitsCheck {
        let targets = &self.entries[i].targets;
        self.preempted
            .fits(&mut self.snapshot, node, usage, targets)
    }

    fn count_recomputation(&mut self, i: usize, node: HierarchyNodeId, check: FitsCheck) {
        let entry = &self.entries[i];
        let targets = &entry.targets;
        let result = if entry.assignment.mode() == FlavorAssignmentMode::DeferredFit {
            RecomputationResult::DeferredFit
        } else if !targets.is_empty() && check == FitsCheck::Ok && !self.preempted.has_any(targets)
        {
            RecomputationResult::NewTargets
        } else {
            RecomputationResult::Skipped
        };
        let name = self.snapshot.cache.hierarchy[node].name.clone();
        let of_queue = self.counts.recomputations.entry(name).or_default();
        *of_queue.entry(result).or_default() += 1;
    }

    /// Reserves capacity for an entry without preemption candidates, unless its ClusterQueue can
    /// always reclaim its nominal quota.
    fn reserve_capacity_for_unreclaimable_preempt(&mut self, i: usize, node: HierarchyNodeId) {
        let gates = &self.snapshot.config.gates;
        let waits_for_preemption =
            gates.prioritize_preemptor_workloads && self.entries[i].is_preemptor;
        let policy = self.snapshot.cluster_queue(node).map(|q| q.preemption);
        let can_reclaim = policy.is_some_and(|p| p.reclaim_within_cohort == PreemptionPolicy::Any);
        if !can_reclaim || waits_for_preemption {
            let quota = quota_resources_to_reserve(&self.entries[i], self.snapshot_node(node));
            let usage = self.entries[i].net_usage(quota, &self.snapshot);
            self.reserve_usage(i, node, usage);
        }
    }

    fn snapshot_node(&self, node: HierarchyNodeId) -> &ResourceNode {
        &self.snapshot.cache.hierarchy[node].resources
    }
}

/// The quota to reserve for an entry: up to the nominal quota, or up to the borrowing limit if it
/// borrows.
pub fn quota_resources_to_reserve(entry: &Entry, node: &ResourceNode) -> FlavorResourceQuantities {
    let wanted = &entry.assignment.usage;
    if entry.assignment.mode() != FlavorAssignmentMode::Preempt {
        return wanted.clone();
    }
    let borrows = entry.assignment.borrowing > 0;
    wanted
        .iter()
        .map(|(fr, amount)| {
            let quota = node.quota(fr);
            let left = |most: Amount| amount.min(most.minus(node.usage(fr)));
            let reserved = match (borrows, quota.borrowing_limit) {
                (true, None) => amount,
                (true, Some(limit)) => left(quota.nominal.plus(limit)),
                (false, _) => left(quota.nominal).or_zero(),
            };
            (fr, reserved)
        })
        .collect()
}
