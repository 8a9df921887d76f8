//! Preemption by dominant resource share.

use super::candidates::{Candidate, sort};
use super::fair_order::Ordering as TargetOrdering;
use super::policy::allows;
use super::search::{Search, mark, restore};
use super::target::{Considered, Fate, Ground, PreemptionReason, SharesCompared, Target, Victims};
use crate::cache::{Drs, NodeId, Policy, WlIdx};
use crate::config::PreemptionStrategy;
use crate::snapshot::Snapshot;

const BOTH: [PreemptionStrategy; 2] = [
    PreemptionStrategy::LessThanOrEqualToFinalShare,
    PreemptionStrategy::LessThanInitialShare,
];

/// Whether the shares allow a preemption: the preemptor's with the workload, the target's before
/// and after its own workload goes.
fn allowed(strategy: PreemptionStrategy, preemptor: &Drs, before: &Drs, after: &Drs) -> bool {
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

/// What is found so far.
#[derive(Default)]
struct Progress {
    targets: Vec<Target>,
    retry: Vec<Candidate>,
    considered: Vec<Considered>,
}

impl Progress {
    /// Notes the shares that were compared for a candidate.
    fn compared(&mut self, idx: WlIdx, shares: SharesCompared) {
        if let Some(c) = self.considered.iter_mut().find(|c| c.idx == idx) {
            c.shares = Some(shares);
        }
    }

    /// Keeps a candidate for the second strategy.
    fn put_off(&mut self, candidate: Candidate) {
        mark(&mut self.considered, candidate.idx, Fate::ShareTooLow);
        self.retry.push(candidate);
    }

    fn take(&mut self, snapshot: &mut Snapshot<'_>, idx: WlIdx, reason: PreemptionReason) {
        snapshot.remove_workload(idx);
        mark(&mut self.considered, idx, Fate::Victim);
        self.targets.push(Target {
            idx,
            reason: Some(reason),
        });
    }
}

/// Finds victims.
pub(super) fn search(search: &Search<'_>, snapshot: &mut Snapshot<'_>) -> Victims {
    let mut candidates = collect(search, snapshot);
    if candidates.is_empty() {
        return Victims::default();
    }
    sort(&mut candidates, snapshot);
    let configured = snapshot.config.fair_sharing.as_ref();
    let strategies: Vec<PreemptionStrategy> = match configured {
        Some(fs) if !fs.strategies.is_empty() => fs.strategies.clone(),
        _ => BOTH.to_vec(),
    };
    let mut progress = Progress {
        considered: candidates
            .iter()
            .map(|c| Considered {
                idx: c.idx,
                ground: c.ground,
                fate: Fate::NotReached,
                shares: None,
            })
            .collect(),
        ..Default::default()
    };

    // Shares include the workload.
    let usage = search.as_usage();
    snapshot.add_usage(search.node, &usage);
    let mut fits = first_strategy(search, snapshot, candidates, strategies[0], &mut progress);
    if !fits && strategies.len() > 1 {
        fits = second_strategy(search, snapshot, &mut progress);
    }
    snapshot.remove_usage(search.node, &usage);

    let Progress {
        mut targets,
        mut considered,
        ..
    } = progress;
    if !fits {
        restore(snapshot, &targets);
        for target in &targets {
            mark(&mut considered, target.idx, Fate::Spared);
        }
        return Victims {
            targets: Vec::new(),
            considered,
        };
    }
    search.fill_back(snapshot, &mut targets, &mut considered, true);
    restore(snapshot, &targets);
    Victims {
        targets,
        considered,
    }
}

fn collect(search: &Search<'_>, snapshot: &mut Snapshot<'_>) -> Vec<Candidate> {
    let Some(preemption) = snapshot.queue(search.node).map(|q| q.preemption) else {
        return Vec::new();
    };
    let preemptor = search.preemptor.rank();
    let mut found: Vec<(WlIdx, Ground)> = Vec::new();
    let mut take = |snapshot: &Snapshot<'_>, queue: NodeId, policy: Policy, ground: Ground| {
        let allowed = |rank| allows(policy, preemptor, rank);
        let members = snapshot.members_ranked(queue, allowed);
        let lacked = members.filter(|(_, w)| w.uses_any(&search.frs));
        found.extend(lacked.map(|(idx, _)| (idx, ground)));
    };
    if preemption.within_cluster_queue != Policy::Never {
        let policy = preemption.within_cluster_queue;
        take(snapshot, search.node, policy, Ground::WithinClusterQueue);
    }
    let forest = &snapshot.cache.forest;
    if forest.ancestors(search.node).next().is_some()
        && preemption.reclaim_within_cohort != Policy::Never
    {
        let root = forest.root(search.node);
        for queue in forest.subtree_queues(root) {
            let borrows = || {
                let zero = Default::default();
                search
                    .frs
                    .iter()
                    .any(|&fr| forest.borrowing_with(queue, fr, zero))
            };
            if queue != search.node && forest[queue].active && borrows() {
                take(
                    snapshot,
                    queue,
                    preemption.reclaim_within_cohort,
                    Ground::FairSharing,
                );
            }
        }
    }
    let node = search.node;
    found
        .into_iter()
        .filter_map(|(idx, ground)| Candidate::new(idx, ground, None, node, snapshot))
        .collect()
}

/// Whether the workload fits once its own usage, which shares include, is set aside.
fn fits_beside_itself(search: &Search<'_>, snapshot: &mut Snapshot<'_>) -> bool {
    let usage = search.as_usage();
    snapshot.remove_usage(search.node, &usage);
    let fits = search.fits(snapshot, true);
    snapshot.add_usage(search.node, &usage);
    fits
}

/// Whether no candidate of a target can pass: the preemptor's share is infinite and the target's
/// is not, and taking from it will not raise it.
fn is_hopeless(preemptor: &Drs, before: &Drs) -> bool {
    preemptor.precise_weighted_share().is_infinite() && before.precise_weighted_share().is_finite()
}

/// Takes victims from the ClusterQueue with the highest share, again and again; true once the
/// workload fits. Candidates whose shares did not allow it are kept for the second strategy.
fn first_strategy(
    search: &Search<'_>,
    snapshot: &mut Snapshot<'_>,
    candidates: Vec<Candidate>,
    strategy: PreemptionStrategy,
    progress: &mut Progress,
) -> bool {
    let within_nominal = snapshot.config.gates.fair_sharing_preempt_within_nominal && {
        let forest = &snapshot.cache.forest;
        let zero = Default::default();
        !search
            .frs
            .iter()
            .any(|&fr| forest.borrowing_with(search.node, fr, zero))
    };
    let mut ordering = TargetOrdering::new(search.node, candidates, snapshot);
    while let Some(queue) = ordering.next(snapshot) {
        let at_once = if queue == search.node {
            Some(PreemptionReason::InClusterQueue)
        } else if within_nominal {
            Some(PreemptionReason::InCohortReclamation)
        } else {
            None
        };
        if let Some(reason) = at_once {
            let Some(candidate) = ordering.pop(queue) else {
                continue;
            };
            progress.take(snapshot, candidate.idx, reason);
            if fits_beside_itself(search, snapshot) {
                return true;
            }
            continue;
        }
        let (mine, theirs) = ordering.shares(queue, snapshot);
        if is_hopeless(&mine, &theirs) {
            while let Some(candidate) = ordering.pop(queue) {
                progress.compared(candidate.idx, shares(strategy, &mine, &theirs, None));
                progress.put_off(candidate);
            }
            continue;
        }
        while let Some(candidate) = ordering.pop(queue) {
            let after = ordering.share_after_removal(queue, candidate.idx, snapshot);
            let told = shares(strategy, &mine, &theirs, Some(&after));
            progress.compared(candidate.idx, told);
            if !allowed(strategy, &mine, &theirs, &after) {
                progress.put_off(candidate);
                continue;
            }
            progress.take(
                snapshot,
                candidate.idx,
                PreemptionReason::InCohortFairSharing,
            );
            if fits_beside_itself(search, snapshot) {
                return true;
            }
            // Shares have changed; another ClusterQueue may have the highest now.
            break;
        }
    }
    false
}

/// Takes one victim at most from each ClusterQueue whose share before is higher than the
/// preemptor's; true once the workload fits.
fn second_strategy(
    search: &Search<'_>,
    snapshot: &mut Snapshot<'_>,
    progress: &mut Progress,
) -> bool {
    let retry = std::mem::take(&mut progress.retry);
    let mut ordering = TargetOrdering::new(search.node, retry, snapshot);
    while let Some(queue) = ordering.next(snapshot) {
        let (mine, theirs) = ordering.shares(queue, snapshot);
        let Some(candidate) = ordering.pop(queue) else {
            continue;
        };
        let initial = PreemptionStrategy::LessThanInitialShare;
        progress.compared(candidate.idx, shares(initial, &mine, &theirs, None));
        if allowed(initial, &mine, &theirs, &theirs) {
            progress.take(
                snapshot,
                candidate.idx,
                PreemptionReason::InCohortFairSharing,
            );
            if fits_beside_itself(search, snapshot) {
                return true;
            }
        }
        ordering.drop_queue(queue);
    }
    false
}
