//! [`Action`]: an API write that a cycle decided.
//!
//! Must not depend on how it was decided.

use std::sync::Arc;

use serde::Serialize;

use super::recorded_candidates::RecordedCandidates;
use crate::messages::Event;
use crate::status::StatusChange;
use crate::workload::WorkloadKey;

/// The purpose of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ActionKind {
    /// Evicts a preemption target.
    Preempt,
    /// Evicts a variant for a more favorable one.
    Migrate,
    /// Evicts a workload whose unhealthy node has no replacement.
    EvictUnplaceable,
    /// Reserves quota for a workload.
    Admit,
    /// Finishes the slice that a workload replaced.
    FinishSlice,
    /// A workload waits until the pods of admitted workloads are ready.
    WaitForPodsReady,
    /// Requeues a workload. Its Event is recorded even if the status write fails or is not needed;
    /// all other actions record their Events on success only.
    Requeue,
}

/// The workload that a target is preempted for.
#[derive(Clone, Debug, PartialEq)]
pub struct Preemptor {
    /// The Workload.
    pub workload: WorkloadKey,
    /// The UID of the Workload.
    pub uid: String,
    /// Its ClusterQueue.
    pub cluster_queue: Arc<str>,
    /// The candidates among which the target was chosen.
    pub candidates: Arc<RecordedCandidates>,
}

/// An API write that a cycle decided.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// Its number in the cycle, which identifies its outcome.
    pub id: usize,
    /// Its purpose.
    pub kind: ActionKind,
    /// The Workload to change.
    pub workload: WorkloadKey,
    /// The UID of that Workload.
    pub uid: String,
    /// The status change, if any.
    pub change: Option<StatusChange>,
    /// The Events to record.
    pub events: Vec<Event>,
    /// For [`ActionKind::Preempt`]: the preemptor.
    #[serde(skip)]
    pub preemptor: Option<Preemptor>,
    /// The action that follows on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<Box<Action>>,
}

/// The outcome of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    /// Written.
    Done,
    /// The Workload no longer exists.
    NotFound,
    /// The write failed.
    Failed,
}
