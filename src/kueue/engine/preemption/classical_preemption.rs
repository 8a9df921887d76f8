//! Classical preemption: by priority, and reclaiming nominal quota in the cohort.
//!
//! Candidates are preempted in order until the workload fits, then added back as far as possible.

use smallvec::SmallVec;

use super::candidates_ordering::{Candidate, sort_candidates};
use super::evaluated_candidates::{EvaluatedCandidates, SearchTarget};
use super::preemption_policy::satisfies_preemption_policy;
use super::preemption_search::{PreemptionSearch, restore_snapshot};
use super::preemption_variant::classify_preemption_variant;
use super::target::{Target, Victims};
use super::{CandidateOutcome, PreemptionReason, PreemptionVariant};
use crate::cache::{HierarchyNodeId, PreemptionPolicies, PreemptionPolicy};
use crate::snapshot_transaction::SnapshotTransaction;

/// The candidates of a search, each list sorted.
#[derive(Default)]
struct ClassicalCandidates {
    /// In other ClusterQueues, over which the preemptor has hierarchical advantage.
    hierarchical: Vec<Candidate>,
    /// In other ClusterQueues, by priority.
    by_priority: Vec<Candidate>,
    /// In the preemptor's ClusterQueue.
    same_queue: Vec<Candidate>,
}

impl ClassicalCandidates {
    /// All candidates: evicted ones first, then by list.
    fn in_order(&self) -> Vec<Candidate> {
        let pools = [&self.hierarchical, &self.by_priority, &self.same_queue];
        let evicted = pools.iter().flat_map(|p| p.iter()).filter(|c| c.evicted);
        let not_evicted = pools.iter().flat_map(|p| p.iter()).filter(|c| !c.evicted);
        evicted.chain(not_evicted).copied().collect()
    }
}

/// Finds preemption targets.
pub(super) fn classical_preemptions(
    search: &PreemptionSearch<'_>,
    snapshot: &mut SnapshotTransaction<'_>,
) -> Victims {
    let Some(preemption) = snapshot.cluster_queue(search.node).map(|q| q.preemption) else {
        return Victims::default();
    };
    let pools = collect_candidates(search, snapshot, preemption);
    let candidates = pools.in_order();
    let mut evaluated_candidates = EvaluatedCandidates::default();
    let mut shortage = None;
    for &borrowing in borrowing_attempts(search, snapshot, preemption, &pools) {
        evaluated_candidates = EvaluatedCandidates::new(&candidates);
        let mut targets = Vec::new();
        for (position, candidate) in (0..).zip(&candidates) {
            if !candidate_is_valid(search, snapshot, candidate, borrowing) {
                evaluated_candidates.set_outcome(position, CandidateOutcome::NotAllowed);
                continue;
            }
            snapshot.remove_workload(candidate.idx);
            evaluated_candidates.set_outcome(position, CandidateOutcome::Victim);
            let target = Target {
                idx: candidate.idx,
                reason: reason(candidate.variant),
            };
            targets.push(SearchTarget { target, position });
            if search.workload_fits(snapshot, borrowing) {
                search.fill_back_workloads(
                    snapshot,
                    &mut targets,
                    &mut evaluated_candidates,
                    borrowing,
                );
                restore_snapshot(snapshot, &targets);
                return evaluated_candidates.into_victims(targets);
            }
        }
        shortage =
            search.fill_back_all_targets(snapshot, &targets, &mut evaluated_candidates, borrowing);
    }
    evaluated_candidates.without_targets(shortage)
}

fn reason(variant: PreemptionVariant) -> Option<PreemptionReason> {
    Some(match variant {
        PreemptionVariant::WithinClusterQueue => PreemptionReason::InClusterQueue,
        PreemptionVariant::HierarchicalReclaim | PreemptionVariant::ReclaimWithoutBorrowing => {
            PreemptionReason::InCohortReclamation
        }
        PreemptionVariant::ReclaimWhileBorrowing => PreemptionReason::InCohortReclaimWhileBorrowing,
        PreemptionVariant::FairSharing => PreemptionReason::InCohortFairSharing,
    })
}

/// Whether to search with borrowing, without, or both, in order. Without borrowing more candidates
/// are allowed; with borrowing more quota is available.
fn borrowing_attempts(
    search: &PreemptionSearch<'_>,
    snapshot: &SnapshotTransaction<'_>,
    preemption: PreemptionPolicies,
    pools: &ClassicalCandidates,
) -> &'static [bool] {
    let forbidden = preemption.borrow_within_cohort.is_none();
    let no_others = pools.hierarchical.is_empty() && pools.by_priority.is_empty();
    if no_others || (forbidden && !is_under_nominal(search, snapshot)) {
        &[true]
    } else if forbidden && pools.hierarchical.is_empty() {
        &[false, true]
    } else {
        &[true, false]
    }
}

/// Whether the preemptor's ClusterQueue is below its nominal quota for every flavor resource that
/// needs preemption.
fn is_under_nominal(search: &PreemptionSearch<'_>, snapshot: &SnapshotTransaction<'_>) -> bool {
    let node = &snapshot.cache.hierarchy[search.node].resources;
    search
        .frs
        .iter()
        .all(|&fr| node.quota(fr).nominal > node.usage(fr))
}

/// Whether a candidate is still valid: earlier preemptions may have brought its ClusterQueue or
/// cohort within nominal quota.
fn candidate_is_valid(
    search: &PreemptionSearch<'_>,
    snapshot: &SnapshotTransaction<'_>,
    candidate: &Candidate,
    borrowing: bool,
) -> bool {
    if candidate.queue == search.node {
        return true;
    }
    if borrowing && candidate.variant == PreemptionVariant::ReclaimWithoutBorrowing {
        return false;
    }
    let hierarchy = &snapshot.cache.hierarchy;
    let below_common = hierarchy
        .ancestors(candidate.queue)
        .take_while(|&n| Some(n) != candidate.lowest_common_cohort);
    std::iter::once(candidate.queue)
        .chain(below_common)
        .all(|node| !hierarchy.is_within_nominal(node, &search.frs))
}

fn collect_candidates(
    search: &PreemptionSearch<'_>,
    snapshot: &mut SnapshotTransaction<'_>,
    preemption: PreemptionPolicies,
) -> ClassicalCandidates {
    let mut pools = ClassicalCandidates::default();
    if preemption.within_cluster_queue != PreemptionPolicy::Never {
        let queue = search.node;
        get_candidates_from_cluster_queue(
            search,
            snapshot,
            preemption,
            queue,
            None,
            false,
            &mut pools.same_queue,
        );
    }
    collect_candidates_for_hierarchical_reclaim(search, snapshot, preemption, &mut pools);
    sort_candidates(&mut pools.hierarchical, snapshot);
    sort_candidates(&mut pools.by_priority, snapshot);
    sort_candidates(&mut pools.same_queue, snapshot);
    pools
}

/// Collects candidates from the preemptor's cohort up to the root, at each level from the subtrees
/// not visited yet. The preemptor has hierarchical advantage from the first subtree whose quota
/// fits the request.
fn collect_candidates_for_hierarchical_reclaim(
    search: &PreemptionSearch<'_>,
    snapshot: &mut SnapshotTransaction<'_>,
    preemption: PreemptionPolicies,
    pools: &mut ClassicalCandidates,
) {
    let cohorts: SmallVec<[HierarchyNodeId; 8]> =
        snapshot.cache.hierarchy.ancestors(search.node).collect();
    if cohorts.is_empty() || preemption.reclaim_within_cohort == PreemptionPolicy::Never {
        return;
    }
    let hierarchy = &snapshot.cache.hierarchy;
    let (mut advantage, mut remaining) =
        hierarchy.quantities_fit_in_quota(search.node, &search.usage);
    let mut previous = None;
    for common in cohorts {
        if let Some(below) = previous {
            let hierarchy = &snapshot.cache.hierarchy;
            let (fits, rest) = hierarchy.quantities_fit_in_quota(below, &remaining);
            remaining = rest;
            advantage |= fits;
        }
        let into = if advantage {
            &mut pools.hierarchical
        } else {
            &mut pools.by_priority
        };
        for queue in cluster_queues_over_nominal(search, snapshot, common, previous) {
            get_candidates_from_cluster_queue(
                search,
                snapshot,
                preemption,
                queue,
                Some(common),
                advantage,
                into,
            );
        }
        previous = Some(common);
    }
}

/// The ClusterQueues below a cohort that are over nominal quota, in cohorts that are as well.
fn cluster_queues_over_nominal(
    search: &PreemptionSearch<'_>,
    snapshot: &SnapshotTransaction<'_>,
    cohort: HierarchyNodeId,
    skip: Option<HierarchyNodeId>,
) -> Vec<HierarchyNodeId> {
    let hierarchy = &snapshot.cache.hierarchy;
    let mut queues = Vec::new();
    let mut stack: SmallVec<[HierarchyNodeId; 8]> = SmallVec::from_slice(&[cohort]);
    while let Some(at) = stack.pop() {
        let cohorts = hierarchy.child_cohorts(at).iter().rev();
        stack.extend(
            cohorts
                .copied()
                .filter(|&c| Some(c) != skip && !hierarchy.is_within_nominal(c, &search.frs)),
        );
        queues.extend(hierarchy.child_queues(at).iter().copied().filter(|&q| {
            q != search.node && hierarchy[q].active && !hierarchy.is_within_nominal(q, &search.frs)
        }));
    }
    queues
}

fn get_candidates_from_cluster_queue(
    search: &PreemptionSearch<'_>,
    snapshot: &mut SnapshotTransaction<'_>,
    preemption: PreemptionPolicies,
    queue: HierarchyNodeId,
    common: Option<HierarchyNodeId>,
    advantage: bool,
    into: &mut Vec<Candidate>,
) {
    let own = queue == search.node;
    let policy = if own {
        preemption.within_cluster_queue
    } else {
        preemption.reclaim_within_cohort
    };
    let mut found = Vec::new();
    let preemptor = search.preemptor.queue_order_key();
    for (idx, workload) in snapshot.reserving_workloads_where(queue, |rank| {
        satisfies_preemption_policy(policy, preemptor, rank)
    }) {
        if !workload.uses_any(&search.frs) {
            continue;
        }
        let variant = if own {
            PreemptionVariant::WithinClusterQueue
        } else if advantage {
            PreemptionVariant::HierarchicalReclaim
        } else {
            classify_preemption_variant(
                preemption,
                search.preemptor.priority,
                workload.info.priority,
            )
        };
        found.push((idx, variant));
    }
    for (idx, variant) in found {
        into.extend(Candidate::new(idx, variant, common, search.node, snapshot));
    }
}
