//! Fair sharing preemption: by dominant resource share.

use super::candidates_ordering::{Candidate, sort_candidates};
use super::evaluated_candidates::{EvaluatedCandidates, SearchTarget};
use super::preemption_policy::satisfies_preemption_policy;
use super::preemption_search::{PreemptionSearch, restore_snapshot};
use super::target::{SharesCompared, Target, Victims};
use super::target_cluster_queue_ordering::TargetClusterQueueOrdering;
use super::{CandidateOutcome, PreemptionReason, PreemptionVariant};
use crate::cache::{Drs, HierarchyNodeId, PreemptionPolicy, WorkloadIndex};
use crate::config::PreemptionStrategy;
use crate::snapshot_transaction::SnapshotTransaction;

const DEFAULT_STRATEGIES: [PreemptionStrategy; 2] = [
    PreemptionStrategy::LessThanOrEqualToFinalShare,
    PreemptionStrategy::LessThanInitialShare,
];

/// Whether a strategy allows the preemption: by the preemptor's share with its workload, and the
/// target's share before and after.
fn strategy_allows(
    strategy: PreemptionStrategy,
    preemptor: &Drs,
    before: &Drs,
    after: &Drs,
) -> bool {
    match strategy {
        PreemptionStrategy::LessThanOrEqualToFinalShare => preemptor.compare(after).is_le(),
        PreemptionStrategy::LessThanInitialShare => preemptor.compare(before).is_lt(),
    }
}

fn shares(
    strategy: PreemptionStrategy,
    preemptor: &Drs,
    before: &Drs,
    after: Option<&Drs>,
) -> SharesCompared {
    let finite = |drs: &Drs| Some(drs.precise_weighted_share()).filter(|s| s.is_finite());
    SharesCompared {
        strategy,
        preemptor: finite(preemptor),
        before: finite(before),
        after: after.and_then(finite),
    }
}

/// The state of the search.
#[derive(Default)]
struct FairPreemptionState {
    targets: Vec<SearchTarget>,
    retry: Vec<Candidate>,
    evaluated_candidates: EvaluatedCandidates,
}

impl FairPreemptionState {
    /// Keeps a candidate for the second strategy.
    fn retry_later(&mut self, candidate: Candidate) {
        self.evaluated_candidates
            .set_outcome(candidate.position, CandidateOutcome::ShareTooLow);
        self.retry.push(candidate);
    }

    /// Adds a target; true once the preemptor fits.
    fn add_target(
        &mut self,
        search: &PreemptionSearch<'_>,
        snapshot: &mut SnapshotTransaction<'_>,
        candidate: &Candidate,
        reason: PreemptionReason,
    ) -> bool {
        let Candidate { idx, position, .. } = *candidate;
        snapshot.remove_workload(idx);
        self.evaluated_candidates
            .set_outcome(position, CandidateOutcome::Victim);
        let target = Target {
            idx,
            reason: Some(reason),
        };
        self.targets.push(SearchTarget { target, position });
        workload_fits_for_fair_sharing(search, snapshot)
    }
}

/// Finds preemption targets.
pub(super) fn fair_preemptions(
    search: &PreemptionSearch<'_>,
    snapshot: &mut SnapshotTransaction<'_>,
) -> Victims {
    let mut candidates = find_candidates(search, snapshot);
    if candidates.is_empty() {
        return Victims::default();
    }
    sort_candidates(&mut candidates, snapshot);
    for (position, candidate) in (0..).zip(&mut candidates) {
        candidate.position = position;
    }
    let configured = snapshot.config.fair_sharing.as_ref();
    let strategies: Vec<PreemptionStrategy> = match configured {
        Some(fs) if !fs.strategies.is_empty() => fs.strategies.clone(),
        _ => DEFAULT_STRATEGIES.to_vec(),
    };
    let mut progress = FairPreemptionState {
        evaluated_candidates: EvaluatedCandidates::new(&candidates),
        ..Default::default()
    };

    // Shares include the preemptor's usage.
    let usage = search.as_usage();
    snapshot.add_usage(search.node, &usage);
    let mut fits =
        run_first_fs_strategy(search, snapshot, candidates, strategies[0], &mut progress);
    if !fits && strategies.len() > 1 {
        fits = run_second_fs_strategy(search, snapshot, &mut progress);
    }
    snapshot.remove_usage(search.node, &usage);

    let FairPreemptionState {
        mut targets,
        mut evaluated_candidates,
        ..
    } = progress;
    if !fits {
        let shortage =
            search.fill_back_all_targets(snapshot, &targets, &mut evaluated_candidates, true);
        return evaluated_candidates.without_targets(shortage);
    }
    search.fill_back_workloads(snapshot, &mut targets, &mut evaluated_candidates, true);
    restore_snapshot(snapshot, &targets);
    evaluated_candidates.into_victims(targets)
}

fn find_candidates(
    search: &PreemptionSearch<'_>,
    snapshot: &mut SnapshotTransaction<'_>,
) -> Vec<Candidate> {
    let Some(preemption) = snapshot.cluster_queue(search.node).map(|q| q.preemption) else {
        return Vec::new();
    };
    let preemptor = search.preemptor.queue_order_key();
    let mut found: Vec<(WorkloadIndex, PreemptionVariant)> = Vec::new();
    let mut take = |snapshot: &SnapshotTransaction<'_>,
                    queue: HierarchyNodeId,
                    policy: PreemptionPolicy,
                    variant: PreemptionVariant| {
        let allowed = |rank| satisfies_preemption_policy(policy, preemptor, rank);
        let members = snapshot.reserving_workloads_where(queue, allowed);
        let candidates = members.filter(|(_, w)| w.uses_any(&search.frs));
        found.extend(candidates.map(|(idx, _)| (idx, variant)));
    };
    if preemption.within_cluster_queue != PreemptionPolicy::Never {
        let policy = preemption.within_cluster_queue;
        take(
            snapshot,
            search.node,
            policy,
            PreemptionVariant::WithinClusterQueue,
        );
    }
    let hierarchy = &snapshot.cache.hierarchy;
    if hierarchy.ancestors(search.node).next().is_some()
        && preemption.reclaim_within_cohort != PreemptionPolicy::Never
    {
        let root = hierarchy.root(search.node);
        for queue in hierarchy.subtree_queues(root) {
            let borrows = || {
                let zero = Default::default();
                search
                    .frs
                    .iter()
                    .any(|&fr| hierarchy.borrowing_with(queue, fr, zero))
            };
            if queue != search.node && hierarchy[queue].active && borrows() {
                take(
                    snapshot,
                    queue,
                    preemption.reclaim_within_cohort,
                    PreemptionVariant::FairSharing,
                );
            }
        }
    }
    let node = search.node;
    found
        .into_iter()
        .filter_map(|(idx, variant)| Candidate::new(idx, variant, None, node, snapshot))
        .collect()
}

/// Whether the workload fits, without its own usage that shares include.
fn workload_fits_for_fair_sharing(
    search: &PreemptionSearch<'_>,
    snapshot: &mut SnapshotTransaction<'_>,
) -> bool {
    let usage = search.as_usage();
    snapshot.remove_usage(search.node, &usage);
    let fits = search.workload_fits(snapshot, true);
    snapshot.add_usage(search.node, &usage);
    fits
}

/// Whether no candidate of a target can satisfy a strategy: the preemptor's share is infinite, and
/// the target's is finite.
fn fs_strategy_unsatisfiable(preemptor: &Drs, before: &Drs) -> bool {
    preemptor.precise_weighted_share().is_infinite() && before.precise_weighted_share().is_finite()
}

/// Preempts in the ClusterQueue with the highest share until the workload fits, which returns true.
/// Candidates that the first strategy does not allow are kept for the second one.
fn run_first_fs_strategy(
    search: &PreemptionSearch<'_>,
    snapshot: &mut SnapshotTransaction<'_>,
    candidates: Vec<Candidate>,
    strategy: PreemptionStrategy,
    progress: &mut FairPreemptionState,
) -> bool {
    let within_nominal = snapshot.config.gates.fair_sharing_preempt_within_nominal && {
        let hierarchy = &snapshot.cache.hierarchy;
        let zero = Default::default();
        !search
            .frs
            .iter()
            .any(|&fr| hierarchy.borrowing_with(search.node, fr, zero))
    };
    let mut ordering = TargetClusterQueueOrdering::new(search.node, candidates, snapshot);
    while let Some(queue) = ordering.next(snapshot) {
        let immediate_reason = if queue == search.node {
            Some(PreemptionReason::InClusterQueue)
        } else if within_nominal {
            Some(PreemptionReason::InCohortReclamation)
        } else {
            None
        };
        if let Some(reason) = immediate_reason {
            let Some(candidate) = ordering.pop(queue) else {
                continue;
            };
            if progress.add_target(search, snapshot, &candidate, reason) {
                return true;
            }
            continue;
        }
        let (preemptor_new_share, target_old_share) = ordering.compute_shares(queue, snapshot);
        if fs_strategy_unsatisfiable(&preemptor_new_share, &target_old_share) {
            while let Some(candidate) = ordering.pop(queue) {
                let compared = shares(strategy, &preemptor_new_share, &target_old_share, None);
                progress
                    .evaluated_candidates
                    .set_shares(candidate.position, compared);
                progress.retry_later(candidate);
            }
            continue;
        }
        while let Some(candidate) = ordering.pop(queue) {
            let after = ordering.compute_target_share_after_removal(queue, candidate.idx, snapshot);
            let compared = shares(
                strategy,
                &preemptor_new_share,
                &target_old_share,
                Some(&after),
            );
            progress
                .evaluated_candidates
                .set_shares(candidate.position, compared);
            if !strategy_allows(strategy, &preemptor_new_share, &target_old_share, &after) {
                progress.retry_later(candidate);
                continue;
            }
            let reason = PreemptionReason::InCohortFairSharing;
            if progress.add_target(search, snapshot, &candidate, reason) {
                return true;
            }
            // The shares changed: select the ClusterQueue again.
            break;
        }
    }
    false
}

/// Preempts at most one workload of each ClusterQueue whose share is above the preemptor's; true
/// once the workload fits.
fn run_second_fs_strategy(
    search: &PreemptionSearch<'_>,
    snapshot: &mut SnapshotTransaction<'_>,
    progress: &mut FairPreemptionState,
) -> bool {
    let retry = std::mem::take(&mut progress.retry);
    let mut ordering = TargetClusterQueueOrdering::new(search.node, retry, snapshot);
    while let Some(queue) = ordering.next(snapshot) {
        let (preemptor_new_share, target_old_share) = ordering.compute_shares(queue, snapshot);
        let Some(candidate) = ordering.pop(queue) else {
            continue;
        };
        let initial = PreemptionStrategy::LessThanInitialShare;
        let compared = shares(initial, &preemptor_new_share, &target_old_share, None);
        progress
            .evaluated_candidates
            .set_shares(candidate.position, compared);
        if strategy_allows(
            initial,
            &preemptor_new_share,
            &target_old_share,
            &target_old_share,
        ) {
            let reason = PreemptionReason::InCohortFairSharing;
            if progress.add_target(search, snapshot, &candidate, reason) {
                return true;
            }
        }
        ordering.drop_queue(queue);
    }
    false
}
