//! [`EvaluatedCandidates`]: the candidates of a search in progress with their outcomes.
//!
//! Candidates are named by their position in the order of the search. Must not decide about targets:
//! a search that omits outcomes finds the same ones.

use super::candidates_ordering::Candidate;
use super::target::{CandidateOutcome, EvaluatedCandidate, SharesCompared, Target, Victims};

/// Whether a search for targets records the outcomes of its candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateOutcomes {
    /// All outcomes, for explanations.
    Recorded,
    /// None: only the targets are used.
    Omitted,
}

/// The candidates of a search in order, each with its outcome so far. Empty if the search omits
/// outcomes.
#[derive(Default)]
pub(super) struct EvaluatedCandidates(Vec<EvaluatedCandidate>);

impl EvaluatedCandidates {
    /// These candidates, none of them reached.
    pub(super) fn new(outcomes: CandidateOutcomes, candidates: &[Candidate]) -> Self {
        let not_reached = |c: &Candidate| EvaluatedCandidate::not_reached(c.idx, c.variant);
        match outcomes {
            CandidateOutcomes::Recorded => Self(candidates.iter().map(not_reached).collect()),
            CandidateOutcomes::Omitted => Self::default(),
        }
    }

    /// Sets the outcome of a candidate.
    pub(super) fn set_outcome(&mut self, position: u32, outcome: CandidateOutcome) {
        if let Some(candidate) = self.0.get_mut(position as usize) {
            candidate.outcome = outcome;
        }
    }

    /// Sets the shares compared for a candidate, which are computed only if they are recorded.
    pub(super) fn set_shares(&mut self, position: u32, shares: impl FnOnce() -> SharesCompared) {
        if let Some(candidate) = self.0.get_mut(position as usize) {
            candidate.shares = Some(shares());
        }
    }

    /// The result of the search with these targets.
    pub(super) fn into_victims(self, targets: Vec<SearchTarget>) -> Victims {
        Victims {
            targets: targets.into_iter().map(|t| t.target).collect(),
            evaluated_candidates: self.0,
        }
    }
}

/// A target of a search in progress.
#[derive(Clone, Copy)]
pub(super) struct SearchTarget {
    /// The target.
    pub target: Target,
    /// The position of its candidate.
    pub position: u32,
}
