//! [`DomainEntry`]: a head on its way through a cycle.
//!
//! Must not know what is done with it.

use std::sync::Arc;

use serde::Serialize;

use crate::cache::HierarchyNodeId;
use crate::flavor_assigner::Assignment;
use crate::preemption::{EvaluatedCandidate, Target};
use crate::queue::{Head, QuotaReservedReason, RequeueReason};
use crate::resources::FlavorResourceQuantities;
use crate::snapshot_transaction::SnapshotTransaction;
use crate::workload::{Info, Usage, WorkloadKey, predicates};

use super::decision::Decision;
use kueue_lab_api::v1beta2::Workload;

/// How far an entry got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum EntryStatus {
    /// It was not nominated for admission.
    #[default]
    NotNominated,
    /// It was nominated, but something failed.
    Nominated,
    /// It was passed over.
    Skipped,
    /// It would preempt, but a gate forbids it.
    PreemptionGated,
    /// It is evicted itself.
    Evicted,
    /// It is taken to be admitted.
    Assumed,
}

/// A head on its way through a cycle.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The workload.
    pub info: Info,
    /// Whether its preemptions are in progress.
    pub is_preemptor: bool,
    /// Its ClusterQueue, if it takes part in the cycle.
    pub node: Option<HierarchyNodeId>,
    /// The flavors it would get.
    pub assignment: Assignment,
    /// The workloads that would have to go.
    pub targets: Vec<Target>,
    /// All workloads that were looked at as victims.
    pub considered: Vec<EvaluatedCandidate>,
    /// How far it got.
    pub status: EntryStatus,
    /// What is told about it when it is not admitted.
    pub message: String,
    /// Where it goes when it is not admitted.
    pub requeue_reason: RequeueReason,
    /// Why it has no quota.
    pub quota_reserved_reason: Option<QuotaReservedReason>,
    /// Whether its turn in the cycle has come.
    pub processed: bool,
    /// The usage that is counted for it in the cycle from its turn on.
    pub reserved_usage: Usage,
    /// Whether it sends victims away.
    pub issues_preemptions: bool,
    /// How many of its victims are going already.
    pub preemptions_in_progress: usize,
    /// The slice it replaces.
    pub replaced: Option<Target>,
    /// What it becomes when it is admitted.
    pub admitted: Option<Arc<Workload>>,
    /// The decision on it, once its turn is over.
    pub decision: Option<Decision>,
    /// The keys of its targets while the cycle is suspended.
    pub(super) target_keys: Vec<WorkloadKey>,
}

/// What came of looking for flavors.
pub(super) struct NominationResult {
    pub assignment: Assignment,
    pub targets: Vec<Target>,
    pub considered: Vec<EvaluatedCandidate>,
}

impl Entry {
    /// An entry that was not looked at yet.
    pub fn new(head: Head, node: Option<HierarchyNodeId>) -> Self {
        Entry {
            info: head.info,
            is_preemptor: head.is_preemptor,
            node,
            assignment: Assignment::default(),
            targets: Vec::new(),
            considered: Vec::new(),
            status: EntryStatus::NotNominated,
            message: String::new(),
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

    /// Takes in what came of looking for flavors. Where the search stopped is remembered for the
    /// next time.
    pub(super) fn record_assignment(&mut self, mut outlook: NominationResult) {
        self.message = outlook.assignment.message();
        let stopped_at = std::mem::take(&mut outlook.assignment.last_state);
        self.info.last_assignment = Some(stopped_at.into());
        self.assignment = outlook.assignment;
        self.targets = outlook.targets;
        self.considered = outlook.considered;
    }

    /// Passes over the entry. What was found out about flavors still holds: it was others that
    /// took what it needs.
    pub fn mark_skipped(
        &mut self,
        message: &str,
        reason: QuotaReservedReason,
        keep_progress: bool,
    ) {
        self.status = EntryStatus::Skipped;
        self.message = message.to_owned();
        self.quota_reserved_reason = Some(reason);
        if !keep_progress {
            self.info.last_assignment = None;
        }
    }

    /// Stops before a closed gate.
    pub fn mark_preemption_gated(&mut self, message: &str) {
        self.status = EntryStatus::PreemptionGated;
        self.message = message.to_owned();
        self.requeue_reason = RequeueReason::PreemptionGated;
        self.quota_reserved_reason = Some(QuotaReservedReason::AdmissionGated);
        self.info.last_assignment = None;
    }

    /// Takes in how the preemptions went. Next time all flavors are tried again.
    pub fn mark_preemption_outcome(&mut self, preempted: usize, failed: usize) {
        self.info.last_assignment = None;
        if preempted > 0 {
            let more = format!(". Pending the preemption of {preempted} workload(s)");
            self.message.push_str(&more);
            self.requeue_reason = RequeueReason::PendingPreemption;
        } else if failed > 0 {
            let more = format!(". Preempting {failed} workload(s) failed, will retry.");
            self.message.push_str(&more);
            self.requeue_reason = RequeueReason::PreemptionFailed;
        }
    }

    /// The usage that admitting the entry adds: nothing for what it holds already.
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
