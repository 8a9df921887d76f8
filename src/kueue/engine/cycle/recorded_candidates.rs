//! [`RecordedCandidates`]: the candidates of a preemption, as recorded with it.

use serde::{Deserialize, Serialize};

use super::decision::{CandidateDecision, candidates};
use crate::preemption::EvaluatedCandidate;
use crate::resources::ResourceFormatter;
use crate::snapshot_transaction::SnapshotTransaction;
use kueue_lab_reason::candidates_text;

/// The maximum number of recorded candidates: an Event with them has a few kilobytes.
const MAX_RECORDED: usize = 20;

/// The candidates of a preemption when it was issued.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCandidates {
    /// The number of candidates.
    pub count: usize,
    /// The first candidates in order.
    pub candidates: Vec<CandidateDecision>,
}

impl RecordedCandidates {
    /// The candidates with their outcomes in one line; `None` without any.
    pub fn text(&self) -> Option<String> {
        let candidates = self.candidates.iter();
        candidates_text(
            candidates.map(|candidate| (&candidate.workload, candidate.outcome)),
            self.count,
            None,
            &ResourceFormatter::default(),
        )
    }

    /// The record of the candidates of a search.
    pub(super) fn new(all: &[EvaluatedCandidate], snapshot: &SnapshotTransaction<'_>) -> Self {
        Self {
            count: all.len(),
            candidates: candidates(all, MAX_RECORDED, snapshot),
        }
    }
}
