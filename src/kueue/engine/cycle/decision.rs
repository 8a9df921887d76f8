//! [`Decision`]: the decision of a cycle on one workload, with all reasons.
//!
//! The source of conditions, Events and `explain`. Must not depend on how it was made.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::entry::{Entry, EntryStatus};
use crate::cache::WorkloadIndex;
use crate::flavor_assigner::{Assignment, FlavorAssignmentAttempt, FlavorAssignmentMode};
use crate::hash_map::FastHashMap;
use crate::preemption::{
    CandidateOutcome, EvaluatedCandidate, PreemptionReason, PreemptionShortage, PreemptionVariant,
    SharesCompared,
};
use crate::queue::{QuotaReservedReason, RequeueReason};
use crate::resources::{FlavorName, FlavorResource, Requests, ResourceFormatter, ResourceName};
use crate::snapshot_transaction::SnapshotTransaction;
use crate::topology_assignment::TopologyAssignment;
use crate::workload::{LocalQueueKey, WorkloadKey};
use kueue_lab_reason::{
    AssignmentError, FlavorReason, InadmissibleReason, PreemptionShortageReason, ResourceShortage,
    TasFailure, candidates_text,
};

/// The maximum number of preemption candidates in a decision, unless all are requested.
const MAX_CANDIDATES: usize = 50;

/// The flavor of one resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlavorChoice {
    /// The flavor.
    pub flavor: FlavorName,
    /// The assignment mode.
    pub mode: FlavorAssignmentMode,
    /// The borrowing level; 0 is no borrowing.
    pub borrow: usize,
}

/// The decision on one pod set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSetDecision {
    /// The pod set.
    pub name: String,
    /// The number of pods.
    pub count: i32,
    /// The total requests.
    pub requests: Requests,
    /// The flavor of each resource.
    pub flavors: BTreeMap<ResourceName, FlavorChoice>,
    /// The reasons why it does not fit, unless an error stopped the assignment.
    pub reasons: Vec<FlavorReason>,
    /// The error that stopped the assignment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<AssignmentError>,
    /// The attempts by flavor.
    pub attempts: Arc<[FlavorAssignmentAttempt]>,
    /// The topology assignment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<TopologyAssignment>,
    /// The reason that it has no topology assignment even without usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_failure: Option<TopologyFailureDecision>,
}

/// The reason that a pod set has no topology assignment in a flavor even without usage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyFailureDecision {
    /// The flavor.
    pub flavor: FlavorName,
    /// The reason.
    pub reason: TasFailure,
}

/// A preemption target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VictimDecision {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its UID.
    pub uid: String,
    /// Its ClusterQueue.
    pub cluster_queue: Arc<str>,
    /// The preemption reason; none for a replaced slice.
    pub reason: Option<PreemptionReason>,
    /// Its priority.
    pub priority: i64,
    /// The preemption variant; none for a replaced slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<PreemptionVariant>,
    /// Its index in the candidates ordering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_index: Option<usize>,
    /// The compared shares, with fair sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<SharesCompared>,
}

/// A preemption candidate that was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateDecision {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its ClusterQueue.
    pub cluster_queue: Arc<str>,
    /// Its priority.
    pub priority: i64,
    /// The preemption variant.
    pub variant: PreemptionVariant,
    /// Its outcome.
    pub outcome: CandidateOutcome,
    /// Whether it is evicted already; such candidates are ordered first.
    pub evicted: bool,
    /// The time at which it reserved quota; later reservations are ordered first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_at: Option<Timestamp>,
    /// The compared shares, with fair sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<SharesCompared>,
}

/// The decision of a cycle on one workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// The time of the cycle.
    pub at: Timestamp,
    /// The status of its entry.
    pub status: EntryStatus,
    /// The assignment mode; none when no flavors were assigned.
    pub mode: Option<FlavorAssignmentMode>,
    /// The borrowing level; 0 is no borrowing.
    pub borrowing: usize,
    /// Why it is not admitted.
    pub inadmissible: InadmissibleReason,
    /// The reason of its QuotaReserved condition.
    pub reason: Option<QuotaReservedReason>,
    /// The reason that it is requeued.
    pub requeue_reason: RequeueReason,
    /// Its pod sets.
    pub pod_sets: Vec<PodSetDecision>,
    /// The preemption targets.
    pub victims: Vec<VictimDecision>,
    /// The preemption candidates in order; the first ones only, unless all were requested.
    pub candidates: Vec<CandidateDecision>,
    /// The number of candidates evaluated.
    pub candidate_count: usize,
    /// Why the preemption of candidates does not suffice; none if there are targets or no
    /// candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortage: Option<PreemptionShortageReason>,
}

impl Decision {
    /// The preemption candidates with their outcomes in one line; `None` without any.
    pub fn candidates_text(&self) -> Option<String> {
        let candidates = self.candidates.iter();
        candidates_text(
            candidates.map(|candidate| (&candidate.workload, candidate.outcome)),
            self.candidate_count,
            self.shortage.as_ref(),
            &ResourceFormatter::default(),
        )
    }

    /// The decision on an entry. Takes the data that the entry no longer needs.
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
        let evaluated_candidates = std::mem::take(&mut entry.evaluated_candidates);
        let shortage = entry.shortage.take();
        let info = &entry.info;
        Decision {
            workload: info.key.clone(),
            uid: info.uid().to_owned(),
            local_queue: info.local_queue.clone(),
            cluster_queue: info.cluster_queue.clone(),
            cycle,
            at: snapshot.now,
            status: entry.status,
            mode: entry.processed.then(|| assignment.mode()),
            borrowing: assignment.borrowing,
            inadmissible: entry.inadmissible.clone(),
            reason: entry.quota_reserved_reason,
            requeue_reason: entry.requeue_reason,
            pod_sets: pod_sets(assignment),
            victims: victims(entry, &evaluated_candidates, snapshot),
            candidates: candidates(&evaluated_candidates, most, snapshot),
            candidate_count: evaluated_candidates.len(),
            shortage: shortage.map(|shortage| preemption_shortage(&shortage, snapshot)),
        }
    }
}

fn pod_sets(mut assignment: Assignment) -> Vec<PodSetDecision> {
    let attempts: Vec<Arc<[FlavorAssignmentAttempt]>> = std::mem::take(&mut assignment.attempts)
        .into_iter()
        .map(Arc::from)
        .collect();
    let failure = assignment.topology_failure.as_ref();
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
        reasons: ps.status.reasons.clone(),
        error: ps.status.error.clone(),
        attempts: attempts.get(ps.group).cloned().unwrap_or_default(),
        topology: ps.topology_assignment.clone(),
        topology_failure: failure
            .filter(|failure| failure.pod_set == ps.name)
            .map(|failure| TopologyFailureDecision {
                flavor: failure.flavor.clone(),
                reason: failure.reason.clone(),
            }),
    };
    assignment.pod_sets.iter().map(decision).collect()
}

fn victims(
    entry: &Entry,
    evaluated_candidates: &[EvaluatedCandidate],
    snapshot: &SnapshotTransaction<'_>,
) -> Vec<VictimDecision> {
    if entry.targets.is_empty() {
        return Vec::new();
    }
    let indexes: FastHashMap<WorkloadIndex, usize> = evaluated_candidates
        .iter()
        .enumerate()
        .map(|(index, c)| (c.idx, index))
        .collect();
    let victim = |t: &crate::preemption::Target| {
        let workload = snapshot.workload(t.idx)?;
        let candidate_index = indexes.get(&t.idx).copied();
        let candidate = candidate_index.map(|i| &evaluated_candidates[i]);
        Some(VictimDecision {
            workload: workload.info.key.clone(),
            uid: workload.info.uid().to_owned(),
            cluster_queue: snapshot.cache.hierarchy[workload.queue].name.clone(),
            reason: t.reason,
            priority: workload.info.priority,
            variant: candidate.map(|c| c.variant),
            candidate_index,
            shares: candidate.and_then(|c| c.shares),
        })
    };
    entry.targets.iter().filter_map(victim).collect()
}

fn preemption_shortage(
    shortage: &PreemptionShortage,
    snapshot: &SnapshotTransaction<'_>,
) -> PreemptionShortageReason {
    let frs = &snapshot.cache.hierarchy.frs;
    let resources = shortage.flavor_resources.iter().map(|missing| {
        let FlavorResource { flavor, resource } = frs.pair(missing.fr).clone();
        ResourceShortage {
            flavor,
            resource,
            freed: missing.freed,
            missing: missing.missing,
        }
    });
    PreemptionShortageReason {
        targets: shortage.targets,
        borrowing: shortage.borrowing,
        resources: resources.collect(),
    }
}

pub(super) fn candidates(
    evaluated_candidates: &[EvaluatedCandidate],
    most: usize,
    snapshot: &SnapshotTransaction<'_>,
) -> Vec<CandidateDecision> {
    let candidate = |c: &EvaluatedCandidate| {
        let workload = snapshot.workload(c.idx)?;
        Some(CandidateDecision {
            workload: workload.info.key.clone(),
            cluster_queue: snapshot.cache.hierarchy[workload.queue].name.clone(),
            priority: workload.info.priority,
            variant: c.variant,
            outcome: c.outcome,
            evicted: workload.evicted,
            reserved_at: workload.reserved_at,
            shares: c.shares,
        })
    };
    evaluated_candidates
        .iter()
        .take(most)
        .filter_map(candidate)
        .collect()
}
