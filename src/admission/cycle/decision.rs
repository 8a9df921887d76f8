//! [`Decision`]: what a cycle made of one workload, with the whole reason.
//!
//! Conditions, Events, `explain` and tests all read this. Must not know how it came about.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::entry::{Entry, EntryStatus};
use crate::cache::WorkloadIndex;
use crate::flavor_assigner::{Assignment, FlavorAssignmentAttempt, FlavorAssignmentMode};
use crate::hash_map::FastHashMap;
use crate::preemption::{
    CandidateOutcome, EvaluatedCandidate, PreemptionReason, PreemptionVariant, SharesCompared,
};
use crate::queue::{QuotaReservedReason, RequeueReason};
use crate::resources::{FlavorName, Requests, ResourceName};
use crate::snapshot_transaction::SnapshotTransaction;
use crate::topology_assignment::TopologyAssignment;
use crate::workload::{LocalQueueKey, WorkloadKey};

/// So many candidates for preemption are kept of a decision that nobody asked for.
const MAX_CANDIDATES: usize = 50;

/// A flavor of one resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlavorChoice {
    /// The flavor.
    pub flavor: FlavorName,
    /// How it could be had.
    pub mode: FlavorAssignmentMode,
    /// How far away it borrows.
    pub borrow: usize,
}

/// What was decided for one pod set.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSetDecision {
    /// The pod set.
    pub name: String,
    /// How many of its pods.
    pub count: i32,
    /// What they request together.
    pub requests: Requests,
    /// The flavors they would get.
    pub flavors: BTreeMap<ResourceName, FlavorChoice>,
    /// What stands in the way.
    pub obstacles: Vec<Arc<str>>,
    /// What came of each flavor that was tried.
    pub attempts: Arc<[FlavorAssignmentAttempt]>,
    /// Where the pods would go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<TopologyAssignment>,
}

/// A workload that has to go.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VictimDecision {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its UID.
    pub uid: String,
    /// Its ClusterQueue.
    pub cluster_queue: Arc<str>,
    /// Why it; none for a slice that is replaced.
    pub reason: Option<PreemptionReason>,
    /// Its priority.
    pub priority: i64,
    /// On what ground it was a candidate; none for a slice that is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ground: Option<PreemptionVariant>,
    /// Its place among the candidates in the order they are taken in, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    /// The shares that were compared for it, where fair sharing decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<SharesCompared>,
}

/// A workload that was looked at as a victim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateDecision {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its ClusterQueue.
    pub cluster_queue: Arc<str>,
    /// Its priority.
    pub priority: i64,
    /// On what ground it was a candidate.
    pub ground: PreemptionVariant,
    /// What became of it.
    pub fate: CandidateOutcome,
    /// Whether it is going already, which puts it before all others.
    pub evicted: bool,
    /// When it got its quota; among equals the youngest go first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_at: Option<Timestamp>,
    /// The shares that were compared for it, where fair sharing decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<SharesCompared>,
}

/// What a cycle made of one workload.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its UID.
    pub uid: String,
    /// Its LocalQueue.
    pub local_queue: LocalQueueKey,
    /// Its ClusterQueue.
    pub cluster_queue: Arc<str>,
    /// The number of the cycle.
    pub cycle: i64,
    /// How far it got.
    pub status: EntryStatus,
    /// How it could be admitted; none when flavors were not looked for.
    pub mode: Option<FlavorAssignmentMode>,
    /// How far away it borrows.
    pub borrowing: usize,
    /// What is told when it is not admitted.
    pub message: String,
    /// Why it has no quota.
    pub reason: Option<QuotaReservedReason>,
    /// Why it goes back to its queue.
    pub requeue_reason: RequeueReason,
    /// Its pod sets.
    pub pod_sets: Vec<PodSetDecision>,
    /// The workloads that have to go.
    pub victims: Vec<VictimDecision>,
    /// The first of those that were looked at as victims, in the order they are taken in; all of
    /// them when the decision was asked for and not met along the way.
    pub candidates: Vec<CandidateDecision>,
    /// How many were looked at.
    pub candidate_count: usize,
}

impl Decision {
    /// The decision on an entry. What the entry needs no longer is taken out of it.
    pub(super) fn of(
        entry: &mut Entry,
        cycle: i64,
        all_candidates: bool,
        snapshot: &SnapshotTransaction<'_>,
    ) -> Self {
        let most = if all_candidates {
            usize::MAX
        } else {
            MAX_CANDIDATES
        };
        let assignment = std::mem::take(&mut entry.assignment);
        let considered = std::mem::take(&mut entry.considered);
        let info = &entry.info;
        Decision {
            workload: info.key.clone(),
            uid: info.uid().to_owned(),
            local_queue: info.local_queue.clone(),
            cluster_queue: info.cluster_queue.clone(),
            cycle,
            status: entry.status,
            mode: entry.processed.then(|| assignment.mode()),
            borrowing: assignment.borrowing,
            message: entry.message.clone(),
            reason: entry.quota_reserved_reason,
            requeue_reason: entry.requeue_reason,
            pod_sets: pod_sets(assignment),
            victims: victims(entry, &considered, snapshot),
            candidates: candidates(&considered, most, snapshot),
            candidate_count: considered.len(),
        }
    }
}

fn pod_sets(mut assignment: Assignment) -> Vec<PodSetDecision> {
    let attempts: Vec<Arc<[FlavorAssignmentAttempt]>> = std::mem::take(&mut assignment.attempts)
        .into_iter()
        .map(Arc::from)
        .collect();
    let decision = |ps: &crate::flavor_assigner::PodSetAssignment| PodSetDecision {
        name: ps.name.clone(),
        count: ps.count,
        requests: ps.requests.clone(),
        flavors: assignment
            .flavors_of(ps)
            .map(|(resource, f)| {
                let choice = FlavorChoice {
                    flavor: f.flavor.clone(),
                    mode: f.mode,
                    borrow: f.borrow,
                };
                (resource, choice)
            })
            .collect(),
        obstacles: ps.status.sorted_reasons(),
        attempts: attempts.get(ps.group).cloned().unwrap_or_default(),
        topology: ps.topology_assignment.clone(),
    };
    assignment.pod_sets.iter().map(decision).collect()
}

fn victims(
    entry: &Entry,
    considered: &[EvaluatedCandidate],
    snapshot: &SnapshotTransaction<'_>,
) -> Vec<VictimDecision> {
    if entry.targets.is_empty() {
        return Vec::new();
    }
    let places: FastHashMap<WorkloadIndex, usize> = considered
        .iter()
        .enumerate()
        .map(|(place, c)| (c.idx, place))
        .collect();
    let victim = |t: &crate::preemption::Target| {
        let workload = snapshot.workload(t.idx)?;
        let place = places.get(&t.idx).copied();
        let candidate = place.map(|i| &considered[i]);
        Some(VictimDecision {
            workload: workload.info.key.clone(),
            uid: workload.info.uid().to_owned(),
            cluster_queue: snapshot.cache.hierarchy[workload.queue].name.clone(),
            reason: t.reason,
            priority: workload.info.priority,
            ground: candidate.map(|c| c.variant),
            place,
            shares: candidate.and_then(|c| c.shares),
        })
    };
    entry.targets.iter().filter_map(victim).collect()
}

fn candidates(
    considered: &[EvaluatedCandidate],
    most: usize,
    snapshot: &SnapshotTransaction<'_>,
) -> Vec<CandidateDecision> {
    let candidate = |c: &EvaluatedCandidate| {
        let workload = snapshot.workload(c.idx)?;
        Some(CandidateDecision {
            workload: workload.info.key.clone(),
            cluster_queue: snapshot.cache.hierarchy[workload.queue].name.clone(),
            priority: workload.info.priority,
            ground: c.variant,
            fate: c.outcome,
            evicted: workload.evicted,
            reserved_at: workload.reserved_at,
            shares: c.shares,
        })
    };
    considered.iter().take(most).filter_map(candidate).collect()
}
