//! [`EvaluatedCandidates`]: the candidates of a search in progress with their outcomes.
//!
//! Candidates are named by their position in the order of the search.

use super::CandidateOutcome;
use super::candidates_ordering::Candidate;
use super::target::{EvaluatedCandidate, PreemptionShortage, SharesCompared, Target, Victims};

/// The candidates of a search in order, each with its outcome so far.
#[derive(Default)]
pub(super) struct EvaluatedCandidates(Vec<EvaluatedCandidate>);

impl EvaluatedCandidates {
    /// These candidates, none of them reached.
    pub(super) fn new(candidates: &[Candidate]) -> Self {
        let not_reached = |c: &Candidate| EvaluatedCandidate::not_reached(c.idx, c.variant);
        Self(candidates.iter().map(not_reached).collect())
    }

    /// Sets the outcome of a candidate.
    pub(super) fn set_outcome(&mut self, position: u32, outcome: CandidateOutcome) {
        if let Some(candidate) = self.0.get_mut(position as usize) {
            candidate.outcome = outcome;
        }
    }

    /// Sets the shares compared for a candidate.
    pub(super) fn set_shares(&mut self, position: u32, shares: SharesCompared) {
        if let Some(candidate) = self.0.get_mut(position as usize) {
            candidate.shares = Some(shares);
        }
    }

    /// The result of the search with these targets.
    pub(super) fn into_victims(self, targets: Vec<SearchTarget>) -> Victims {
        Victims {
            targets: targets.into_iter().map(|t| t.target).collect(),
            evaluated_candidates: self.0,
            shortage: None,
        }
    }

    /// The result of a search without targets.
    pub(super) fn without_targets(self, shortage: Option<PreemptionShortage>) -> Victims {
        Victims {
            targets: Vec::new(),
            evaluated_candidates: self.0,
            shortage,
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
