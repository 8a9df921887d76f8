//! [`Entry`]: a head during a cycle.
//!
//! Must not depend on how it is processed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cache::HierarchyNodeId;
use crate::flavor_assigner::Assignment;
use crate::preemption::{EvaluatedCandidate, PreemptionShortage, Target};
use crate::queue::{Head, QuotaReservedReason, RequeueReason};
use crate::resources::FlavorResourceQuantities;
use crate::snapshot_transaction::SnapshotTransaction;
use crate::workload::{Info, Usage, WorkloadKey, predicates};

use super::decision::Decision;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_reason::{InadmissibleCause, InadmissibleReason, PendingEvictions};

/// The status of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryStatus {
    /// Not nominated for admission.
    #[default]
    NotNominated,
    /// Nominated, but not admitted.
    Nominated,
    /// Skipped in this cycle.
    Skipped,
    /// It requires preemption, but a preemption gate is closed.
    PreemptionGated,
    /// The workload itself is evicted.
    Evicted,
    /// Assumed to be admitted.
    Assumed,
}

/// A head during a cycle.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The workload.
    pub info: Info,
    /// Whether its preemptions are in progress.
    pub is_preemptor: bool,
    /// The node of its ClusterQueue, if that is active.
    pub node: Option<HierarchyNodeId>,
    /// The flavor assignment.
    pub assignment: Assignment,
    /// The preemption targets.
    pub targets: Vec<Target>,
    /// The preemption candidates that were evaluated.
    pub evaluated_candidates: Vec<EvaluatedCandidate>,
    /// Why the preemption of candidates does not suffice; none if there are targets or no candidates.
    pub shortage: Option<PreemptionShortage>,
    /// Its status.
    pub status: EntryStatus,
    /// Why it is not admitted.
    pub inadmissible: InadmissibleReason,
    /// The reason of its requeue when it is not admitted.
    pub requeue_reason: RequeueReason,
    /// The reason of its QuotaReserved condition.
    pub quota_reserved_reason: Option<QuotaReservedReason>,
    /// Whether it was processed in this cycle.
    pub processed: bool,
    /// The usage reserved for it for the rest of the cycle.
    pub reserved_usage: Usage,
    /// Whether it issues preemptions.
    pub issues_preemptions: bool,
    /// The number of targets that are evicted already.
    pub preemptions_in_progress: usize,
    /// The slice it replaces.
    pub replaced: Option<Target>,
    /// The Workload after admission.
    pub admitted: Option<Arc<Workload>>,
    /// The decision, once it was processed.
    pub decision: Option<Decision>,
    /// The keys of its targets while the cycle is suspended.
    pub(super) target_keys: Vec<WorkloadKey>,
}

/// The result of nomination: flavor assignment and preemption targets.
pub(super) struct NominationResult {
    pub assignment: Assignment,
    pub targets: Vec<Target>,
    pub evaluated_candidates: Vec<EvaluatedCandidate>,
    pub shortage: Option<PreemptionShortage>,
}

impl Entry {
    /// An entry that was not nominated yet.
    pub fn new(head: Head, node: Option<HierarchyNodeId>) -> Self {
        Entry {
            info: head.info,
            is_preemptor: head.is_preemptor,
            node,
            assignment: Assignment::default(),
            targets: Vec::new(),
            evaluated_candidates: Vec::new(),
            shortage: None,
            status: EntryStatus::NotNominated,
            inadmissible: InadmissibleReason::default(),
            requeue_reason: RequeueReason::Generic,
            quota_reserved_reason: None,
            processed: false,
            reserved_usage: Usage::default(),
            issues_preemptions: false,
            preemptions_in_progress: 0,
            replaced: None,
            admitted: None,
            decision: None,
            target_keys: Vec::new(),
        }
    }

    /// Records the result of nomination. The last assignment state is kept for the next attempt.
    pub(super) fn record_assignment(&mut self, mut result: NominationResult) {
        self.inadmissible = InadmissibleReason {
            cause: result.assignment.inadmissible_cause(),
            evictions: None,
        };
        let stopped_at = std::mem::take(&mut result.assignment.last_state);
        self.info.last_assignment = Some(stopped_at.into());
        self.assignment = result.assignment;
        self.targets = result.targets;
        self.evaluated_candidates = result.evaluated_candidates;
        self.shortage = result.shortage;
    }

    /// Skips the entry. `keep_progress` keeps the last assignment state: the flavors were taken by
    /// other entries.
    pub fn mark_skipped(
        &mut self,
        cause: InadmissibleCause,
        reason: QuotaReservedReason,
        keep_progress: bool,
    ) {
        self.status = EntryStatus::Skipped;
        self.inadmissible = cause.into();
        self.quota_reserved_reason = Some(reason);
        if !keep_progress {
            self.info.last_assignment = None;
        }
    }

    /// Marks the entry as blocked by a closed preemption gate.
    pub(crate) fn mark_preemption_gated(&mut self) {
        self.status = EntryStatus::PreemptionGated;
        self.inadmissible = InadmissibleCause::PreemptionGated.into();
        self.requeue_reason = RequeueReason::PreemptionGated;
        self.quota_reserved_reason = Some(QuotaReservedReason::AdmissionGated);
        self.info.last_assignment = None;
    }

    /// Records how many preemptions were issued and failed. The next attempt tries all flavors.
    pub fn mark_preemption_outcome(&mut self, preempted: usize, failed: usize) {
        self.info.last_assignment = None;
        if preempted > 0 {
            self.inadmissible.evictions = Some(PendingEvictions::Preemption(preempted));
            self.requeue_reason = RequeueReason::PendingPreemption;
        } else if failed > 0 {
            self.inadmissible.evictions = Some(PendingEvictions::PreemptionFailed(failed));
            self.requeue_reason = RequeueReason::PreemptionFailed;
        }
    }

    /// The usage that admission adds: none for quota it reserves already.
    pub fn usage(&self, snapshot: &SnapshotTransaction<'_>) -> Usage {
        self.net_usage(self.assignment.usage.clone(), snapshot)
    }

    pub(super) fn net_usage(
        &self,
        quota: FlavorResourceQuantities,
        snapshot: &SnapshotTransaction<'_>,
    ) -> Usage {
        let mut usage = Usage::default();
        if let Some(node) = self.node
            && snapshot.config.gates.topology_aware_scheduling
        {
            let counted = self.info.obj.status.admission.as_ref();
            usage.tas = self
                .assignment
                .compute_tas_net_usage(&self.info, counted, snapshot, node);
        }
        if !predicates::has_quota_reservation(&self.info.obj) {
            usage.quota = quota;
        }
        usage
    }
}
