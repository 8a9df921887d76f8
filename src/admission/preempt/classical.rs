//! Preemption by priority and by the right to quota.
//!
//! Victims are taken in order until the workload fits, then put back as far as possible.

use smallvec::SmallVec;

use super::candidates::{Candidate, sort};
use super::policy::allows;
use super::search::{Search, mark, restore};
use super::target::{Considered, Fate, Ground, PreemptionReason, Target, Victims};
use crate::cache::{NodeId, Policy, Preemption};
use crate::snapshot::Snapshot;

/// The candidates of a search, each list in order.
#[derive(Default)]
struct Pools {
    /// In other ClusterQueues, whose quota the preemptor is closer to.
    hierarchical: Vec<Candidate>,
    /// In other ClusterQueues, by priority.
    by_priority: Vec<Candidate>,
    /// In the preemptor's own.
    same_queue: Vec<Candidate>,
}

impl Pools {
    /// All of them: those that are going already first, then by pool.
    fn in_order(&self) -> Vec<Candidate> {
        let pools = [&self.hierarchical, &self.by_priority, &self.same_queue];
        let going = pools.iter().flat_map(|p| p.iter()).filter(|c| c.evicted);
        let staying = pools.iter().flat_map(|p| p.iter()).filter(|c| !c.evicted);
        going.chain(staying).copied().collect()
    }
}

/// Finds victims.
pub(super) fn search(search: &Search<'_>, snapshot: &mut Snapshot<'_>) -> Victims {
    let Some(preemption) = snapshot.queue(search.node).map(|q| q.preemption) else {
        return Victims::default();
    };
    let pools = collect(search, snapshot, preemption);
    let candidates = pools.in_order();
    let mut considered: Vec<Considered> = Vec::new();
    for &borrowing in attempts(search, snapshot, preemption, &pools) {
        considered = candidates
            .iter()
            .map(|c| Considered {
                idx: c.idx,
                ground: c.ground,
                fate: Fate::NotReached,
                shares: None,
            })
            .collect();
        let mut targets = Vec::new();
        for (i, candidate) in candidates.iter().enumerate() {
            if !is_valid(search, snapshot, candidate, borrowing) {
                considered[i].fate = Fate::NotAllowed;
                continue;
            }
            snapshot.remove_workload(candidate.idx);
            considered[i].fate = Fate::Victim;
            targets.push(Target {
                idx: candidate.idx,
                reason: reason(candidate.ground),
            });
            if search.fits(snapshot, borrowing) {
                search.fill_back(snapshot, &mut targets, &mut considered, borrowing);
                restore(snapshot, &targets);
                return Victims {
                    targets,
                    considered,
                };
            }
        }
        restore(snapshot, &targets);
        for target in &targets {
            mark(&mut considered, target.idx, Fate::Spared);
        }
    }
    Victims {
        targets: Vec::new(),
        considered,
    }
}

fn reason(ground: Ground) -> Option<PreemptionReason> {
    Some(match ground {
        Ground::WithinClusterQueue => PreemptionReason::InClusterQueue,
        Ground::HierarchicalReclaim | Ground::ReclaimWithoutBorrowing => {
            PreemptionReason::InCohortReclamation
        }
        Ground::ReclaimWhileBorrowing => PreemptionReason::InCohortReclaimWhileBorrowing,
        Ground::FairSharing => PreemptionReason::InCohortFairSharing,
    })
}

/// Whether to try with borrowing, without, or both, and in which order. Without, more candidates
/// are allowed; with, there is more quota.
fn attempts(
    search: &Search<'_>,
    snapshot: &Snapshot<'_>,
    preemption: Preemption,
    pools: &Pools,
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

/// Whether the preemptor's ClusterQueue uses less than its nominal quota of every pair it lacks.
fn is_under_nominal(search: &Search<'_>, snapshot: &Snapshot<'_>) -> bool {
    let node = &snapshot.cache.forest[search.node].resources;
    search
        .frs
        .iter()
        .all(|&fr| node.quota(fr).nominal > node.usage(fr))
}

/// Whether a candidate may be taken as things stand: preempting others may have made it
/// untouchable.
fn is_valid(
    search: &Search<'_>,
    snapshot: &Snapshot<'_>,
    candidate: &Candidate,
    borrowing: bool,
) -> bool {
    if candidate.queue == search.node {
        return true;
    }
    if borrowing && candidate.ground == Ground::ReclaimWithoutBorrowing {
        return false;
    }
    let forest = &snapshot.cache.forest;
    let below_common = forest
        .ancestors(candidate.queue)
        .take_while(|&n| Some(n) != candidate.common);
    std::iter::once(candidate.queue)
        .chain(below_common)
        .all(|node| !forest.is_within_nominal(node, &search.frs))
}

fn collect(search: &Search<'_>, snapshot: &mut Snapshot<'_>, preemption: Preemption) -> Pools {
    let mut pools = Pools::default();
    if preemption.within_cluster_queue != Policy::Never {
        let queue = search.node;
        take_queue(
            search,
            snapshot,
            preemption,
            queue,
            None,
            false,
            &mut pools.same_queue,
        );
    }
    collect_from_cohorts(search, snapshot, preemption, &mut pools);
    sort(&mut pools.hierarchical, snapshot);
    sort(&mut pools.by_priority, snapshot);
    sort(&mut pools.same_queue, snapshot);
    pools
}

/// Walks from the preemptor's cohort to the root, at each taking candidates from what is below it
/// and was not looked at before. From where the request fits the quota of a subtree on, the
/// preemptor has the better right to it.
fn collect_from_cohorts(
    search: &Search<'_>,
    snapshot: &mut Snapshot<'_>,
    preemption: Preemption,
    pools: &mut Pools,
) {
    let cohorts: SmallVec<[NodeId; 8]> = snapshot.cache.forest.ancestors(search.node).collect();
    if cohorts.is_empty() || preemption.reclaim_within_cohort == Policy::Never {
        return;
    }
    let forest = &snapshot.cache.forest;
    let (mut advantage, mut remaining) = forest.quantities_fit_in_quota(search.node, &search.usage);
    let mut previous = None;
    for common in cohorts {
        if let Some(below) = previous {
            let forest = &snapshot.cache.forest;
            let (fits, rest) = forest.quantities_fit_in_quota(below, &remaining);
            remaining = rest;
            advantage |= fits;
        }
        let into = if advantage {
            &mut pools.hierarchical
        } else {
            &mut pools.by_priority
        };
        for queue in over_quota(search, snapshot, common, previous) {
            take_queue(
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

/// The ClusterQueues below a cohort that use more than their quota, in cohorts that do so too.
fn over_quota(
    search: &Search<'_>,
    snapshot: &Snapshot<'_>,
    cohort: NodeId,
    skip: Option<NodeId>,
) -> Vec<NodeId> {
    let forest = &snapshot.cache.forest;
    let mut queues = Vec::new();
    let mut stack: SmallVec<[NodeId; 8]> = SmallVec::from_slice(&[cohort]);
    while let Some(at) = stack.pop() {
        let cohorts = forest.child_cohorts(at).iter().rev();
        stack.extend(
            cohorts
                .copied()
                .filter(|&c| Some(c) != skip && !forest.is_within_nominal(c, &search.frs)),
        );
        queues.extend(forest.child_queues(at).iter().copied().filter(|&q| {
            q != search.node && forest[q].active && !forest.is_within_nominal(q, &search.frs)
        }));
    }
    queues
}

fn take_queue(
    search: &Search<'_>,
    snapshot: &mut Snapshot<'_>,
    preemption: Preemption,
    queue: NodeId,
    common: Option<NodeId>,
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
    let preemptor = search.preemptor.rank();
    for (idx, workload) in snapshot.members_ranked(queue, |rank| allows(policy, preemptor, rank)) {
        if !workload.uses_any(&search.frs) {
            continue;
        }
        let ground = if own {
            Ground::WithinClusterQueue
        } else if advantage {
            Ground::HierarchicalReclaim
        } else {
            ground_by_priority(
                preemption,
                search.preemptor.priority,
                workload.info.priority,
            )
        };
        found.push((idx, ground));
    }
    for (idx, ground) in found {
        into.extend(Candidate::new(idx, ground, common, search.node, snapshot));
    }
}

/// Whether a candidate of this priority may go while the preemptor's ClusterQueue borrows.
fn ground_by_priority(preemption: Preemption, preemptor: i64, candidate: i64) -> Ground {
    match preemption.borrow_within_cohort {
        Some(rule)
            if candidate < preemptor
                && rule
                    .max_priority_threshold
                    .is_none_or(|t| candidate <= i64::from(t)) =>
        {
            Ground::ReclaimWhileBorrowing
        }
        _ => Ground::ReclaimWithoutBorrowing,
    }
}
