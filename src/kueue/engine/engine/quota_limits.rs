//! [`QuotaLimits`]: the maximum quota that may be available to a workload, also after preemptions.
//!
//! An upper bound: all workloads that may be preemption candidates are removed, whether a search
//! would preempt them or not. Must not depend on the order of candidates.

use std::collections::BTreeMap;

use super::quota_slots::QuotaSlots;
use crate::cache::{Cache, ClusterQueue, HierarchyNodeId, PreemptionPolicy, WorkloadIndex};
use crate::preemption::{PreemptorRank, least_preemptor_rank, preemptor_rank};
use crate::resources::{Amount, FlavorResourceId};
use crate::workload::QueueOrderKey;

/// The maximum number of distinguished ranks of preemptors.
const MAX_RANKS: usize = 32;

/// The limits of the slots of a ClusterQueue, by the rank of the workload.
#[derive(Clone, Debug)]
pub(super) struct QuotaLimits {
    /// Without preemption.
    available: Vec<i64>,
    /// With preemption, from a rank on; sorted.
    by_rank: Vec<(PreemptorRank, Vec<i64>)>,
}

/// Workloads that may be preempted from a rank on.
#[derive(Clone, Debug, Default)]
struct Candidates {
    /// Candidates also of a preemptor that borrows.
    borrowing: Vec<WorkloadIndex>,
    /// All candidates.
    all: Vec<WorkloadIndex>,
}

impl QuotaLimits {
    /// The limits of a ClusterQueue for workloads from `first` on in queue order.
    pub(super) fn of(
        cache: &mut Cache,
        slots: &QuotaSlots,
        first: QueueOrderKey,
        fair_sharing: bool,
    ) -> Self {
        let limits = |cache: &Cache| -> Vec<Amount> {
            let frs = slots.flavor_resources.iter();
            frs.map(|&fr| cache.hierarchy.available(slots.node, fr).or_zero())
                .collect()
        };
        let available = values(&limits(cache));
        let candidates = candidates(cache, slots.node, preemptor_rank(first), fair_sharing);
        let reclaims = candidates
            .iter()
            .any(|(_, found)| found.all.len() > found.borrowing.len());
        let above = above_nominal(cache, slots);
        let mut by_rank = Vec::with_capacity(candidates.len());
        cache.hierarchy.begin();
        for (rank, found) in &candidates {
            found.borrowing.iter().for_each(|&idx| remove(cache, idx));
            let frs = slots.flavor_resources.iter();
            let within_nominal: Vec<Amount> = frs
                .zip(&above)
                .map(|(&fr, above)| unused_nominal(cache, slots.node, fr).max(*above))
                .collect();
            by_rank.push((*rank, limits(cache), within_nominal));
        }
        cache.hierarchy.roll_back();
        if reclaims {
            // To reclaim quota without borrowing, the quota of the ClusterQueue or of a cohort has
            // to suffice.
            cache.hierarchy.begin();
            for ((_, found), (_, limit, within_nominal)) in candidates.iter().zip(&mut by_rank) {
                found.all.iter().for_each(|&idx| remove(cache, idx));
                for ((limit, all), nominal) in
                    limit.iter_mut().zip(limits(cache)).zip(within_nominal)
                {
                    *limit = (*limit).max(all.min(*nominal));
                }
            }
            cache.hierarchy.roll_back();
        }
        let by_rank = by_rank.into_iter();
        QuotaLimits {
            available,
            by_rank: by_rank
                .map(|(rank, limit, _)| (rank, values(&limit)))
                .collect(),
        }
    }

    /// The limits of a workload.
    pub(super) fn limits_of(&self, workload: QueueOrderKey) -> &[i64] {
        let rank = preemptor_rank(workload);
        let ranks = self.by_rank.partition_point(|(least, _)| *least <= rank);
        match ranks.checked_sub(1) {
            Some(last) => &self.by_rank[last].1,
            None => &self.available,
        }
    }
}

fn values(amounts: &[Amount]) -> Vec<i64> {
    amounts.iter().map(|amount| amount.value()).collect()
}

/// The candidates of preemptors up to a rank, by the least rank of their preemptors.
fn candidates(
    cache: &Cache,
    node: HierarchyNodeId,
    highest: PreemptorRank,
    fair_sharing: bool,
) -> Vec<(PreemptorRank, Candidates)> {
    let mut by_rank: BTreeMap<PreemptorRank, Candidates> = BTreeMap::new();
    let Some(queue) = cache.cluster_queue_by_node(node) else {
        return Vec::new();
    };
    let policies = queue.preemption;
    let mut add = |of: &ClusterQueue, policy, is_allowed: &dyn Fn(i64) -> bool, borrowing| {
        for workload in of.reserving_workloads() {
            let key = workload.order_key;
            let least = least_preemptor_rank(policy, key).filter(|least| *least <= highest);
            if let Some(least) = least.filter(|_| is_allowed(key.priority)) {
                let found = by_rank.entry(least).or_default();
                match borrowing {
                    true => found.borrowing.push(workload.idx),
                    false => found.all.push(workload.idx),
                }
            }
        }
    };
    let any = |_| true;
    for borrowing in [true, false] {
        add(queue, policies.within_cluster_queue, &any, borrowing);
    }
    for other in queues_over_nominal(cache, node) {
        let reclaim = policies.reclaim_within_cohort;
        add(other, reclaim, &any, false);
        if fair_sharing {
            add(other, reclaim, &any, true);
        } else if let Some(rule) = policies.borrow_within_cohort {
            let threshold = rule.max_priority_threshold;
            let is_allowed = |priority| threshold.is_none_or(|most| priority <= i64::from(most));
            let policy = match reclaim {
                PreemptionPolicy::Any => PreemptionPolicy::LowerPriority,
                reclaim => reclaim,
            };
            add(other, policy, &is_allowed, true);
        }
    }
    // With too many ranks, consecutive ones count as the least of them.
    let ranks_per_group = by_rank.len().div_ceil(MAX_RANKS).max(1);
    let mut merged: Vec<(PreemptorRank, Candidates)> = Vec::new();
    for (index, (rank, found)) in by_rank.into_iter().enumerate() {
        match merged.last_mut().filter(|_| index % ranks_per_group > 0) {
            Some((_, last)) => {
                last.borrowing.extend(found.borrowing);
                last.all.extend(found.all);
            }
            None => merged.push((rank, found)),
        }
    }
    merged
}

/// The other ClusterQueues of the tree that use more than their nominal quota: only their workloads
/// are candidates.
fn queues_over_nominal(cache: &Cache, node: HierarchyNodeId) -> Vec<&ClusterQueue> {
    let hierarchy = &cache.hierarchy;
    if hierarchy.ancestors(node).next().is_none() {
        return Vec::new();
    }
    let others = hierarchy.subtree_queues(hierarchy.root(node)).into_iter();
    let over_nominal = |queue: &HierarchyNodeId| {
        let resources = &hierarchy[*queue].resources;
        let mut used = resources.usages();
        used.any(|(fr, usage)| usage > resources.quota(fr).nominal)
    };
    others
        .filter(|queue| *queue != node && over_nominal(queue))
        .filter_map(|queue| cache.cluster_queue_by_node(queue))
        .collect()
}

/// The unused nominal quota of a ClusterQueue.
fn unused_nominal(cache: &Cache, node: HierarchyNodeId, fr: FlavorResourceId) -> Amount {
    let resources = &cache.hierarchy[node].resources;
    resources.quota(fr).nominal.minus(resources.usage(fr))
}

/// The maximum that a workload may request so that the quota of a cohort below the root suffices,
/// by slot.
fn above_nominal(cache: &Cache, slots: &QuotaSlots) -> Vec<Amount> {
    let hierarchy = &cache.hierarchy;
    let of_slot = |&fr: &FlavorResourceId| {
        let mut most = Amount::new(i64::MIN);
        let mut below = hierarchy[slots.node].resources.local_available(fr);
        for cohort in hierarchy.ancestors(slots.node) {
            let resources = &hierarchy[cohort].resources;
            if hierarchy.has_parent(cohort) {
                let unused = resources.subtree_quota(fr).minus(resources.usage(fr));
                most = most.max(below.plus(unused));
            }
            below = below.plus(resources.local_available(fr));
        }
        most
    };
    slots.flavor_resources.iter().map(of_slot).collect()
}

fn remove(cache: &mut Cache, idx: WorkloadIndex) {
    let Some(workload) = cache.workload(idx) else {
        return;
    };
    let (node, usage) = (workload.queue, workload.usage.clone());
    for (fr, amount) in usage.iter() {
        cache.hierarchy.remove_usage(node, fr, amount);
    }
}
