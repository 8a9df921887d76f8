//! [`Action`]: something to write to the cluster, as a cycle decided it.
//!
//! Must not know how it was decided.

use serde::Serialize;

use crate::messages::Event;
use crate::status::StatusChange;
use crate::workload::WorkloadKey;

/// What an action is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ActionKind {
    /// A victim has to go.
    Preempt,
    /// A variant makes way for a better one.
    Migrate,
    /// A workload goes since no replacement was found for its failed node.
    EvictUnplaceable,
    /// A workload gets quota.
    Admit,
    /// The slice a workload replaced is finished.
    FinishSlice,
    /// A workload has to wait until the pods of those before it are ready.
    WaitForPodsReady,
    /// A workload goes back to its queue. Its Event is told whether or not the status could be
    /// written, or there was anything to write; all other actions tell theirs only when they
    /// succeeded.
    Requeue,
}

/// Something to write to the cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// Its number in the cycle, to report its outcome by.
    pub id: usize,
    /// What it is for.
    pub kind: ActionKind,
    /// The Workload to change.
    pub workload: WorkloadKey,
    /// The UID of that Workload.
    pub uid: String,
    /// The change to its status, if there is one.
    pub change: Option<StatusChange>,
    /// What to tell.
    pub events: Vec<Event>,
    /// What to do after this succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<Box<Action>>,
}

/// How writing to the cluster went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    /// It is written.
    Done,
    /// The Workload is gone.
    NotFound,
    /// It could not be written.
    Failed,
}
