//! The texts of preemption candidates and their outcomes, and the candidates of a decision in one line.

use std::fmt::Display;

use super::TextStyle;
use crate::{CandidateOutcome, PreemptionShortageReason, PreemptionVariant};

/// The most candidates with one outcome that are named.
const MAX_NAMES: usize = 3;

impl PreemptionVariant {
    /// The reason as text.
    pub fn text(self) -> &'static str {
        match self {
            PreemptionVariant::WithinClusterQueue => "within the ClusterQueue",
            PreemptionVariant::HierarchicalReclaim => "hierarchical reclaim",
            PreemptionVariant::ReclaimWithoutBorrowing => "reclaim from a borrowing ClusterQueue",
            PreemptionVariant::ReclaimWhileBorrowing => {
                "reclaim while borrowing, its priority is low enough"
            }
            PreemptionVariant::FairSharing => "fair sharing with a borrowing ClusterQueue",
        }
    }
}

impl CandidateOutcome {
    /// The outcome as text, with what is missing after the preemption of all candidates that are allowed, if they do
    /// not suffice.
    pub fn text(
        self,
        shortage: Option<&PreemptionShortageReason>,
        style: &dyn TextStyle,
    ) -> String {
        let text = match self {
            CandidateOutcome::Victim => "preempted",
            CandidateOutcome::Spared => "not needed, the other targets suffice",
            CandidateOutcome::Insufficient => {
                let missing = shortage.map(|shortage| shortage.missing_text(style));
                let missing = missing.map_or_else(String::new, |missing| format!(", {missing}"));
                return format!("not preempted, all of them together do not suffice{missing}");
            }
            CandidateOutcome::NotAllowed => "not a candidate at its evaluation",
            CandidateOutcome::ShareTooLow => "the share of its ClusterQueue is too low",
            CandidateOutcome::NotReached => "not evaluated",
        };
        text.to_owned()
    }
}

impl PreemptionShortageReason {
    /// `2 more cpu in spot`: what is missing after the preemption.
    fn missing_text(&self, style: &dyn TextStyle) -> String {
        let missing = self.resources.iter().map(|shortage| {
            let amount = style.amount(shortage.resource, shortage.missing);
            let resource = style.resource(shortage.resource);
            format!("{amount} more {resource} in {}", shortage.flavor)
        });
        let missing: Vec<String> = missing.collect();
        match missing.is_empty() {
            true => "no topology assignment is found".to_owned(),
            false => missing.join(", "),
        }
    }
}

/// `3 candidates: team/a, team/b: preempted; team/c: not evaluated`. `None` without candidates.
///
/// `count` is the number of all candidates, of which `candidates` are the first; `shortage` is what is missing after the
/// preemption of all that are allowed.
pub fn candidates_text<N: Display>(
    candidates: impl IntoIterator<Item = (N, CandidateOutcome)>,
    count: usize,
    shortage: Option<&PreemptionShortageReason>,
    style: &dyn TextStyle,
) -> Option<String> {
    let mut by_outcome: Vec<(CandidateOutcome, Vec<String>)> = Vec::new();
    let mut listed = 0;
    for (name, outcome) in candidates {
        listed += 1;
        let name = name.to_string();
        match by_outcome.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, names)) => names.push(name),
            None => by_outcome.push((outcome, vec![name])),
        }
    }
    let mut parts: Vec<String> = by_outcome
        .into_iter()
        .map(|(outcome, mut names)| {
            if let Some(more) = names.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
                names.truncate(MAX_NAMES);
                names.push(format!("{more} more"));
            }
            format!("{}: {}", names.join(", "), outcome.text(shortage, style))
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    if count > listed {
        parts.push(format!("{} more", count - listed));
    }
    let noun = match count {
        1 => "1 candidate",
        _ => &format!("{count} candidates"),
    };
    Some(format!("{noun}: {}", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResourceShortage;
    use crate::resources::ResourceFormatter;

    fn text(candidates: &[(&str, CandidateOutcome)], count: usize) -> Option<String> {
        let candidates = candidates.iter().copied();
        candidates_text(candidates, count, None, &ResourceFormatter::default())
    }

    #[test]
    fn candidates_are_named_by_outcome() {
        use CandidateOutcome::{NotReached, ShareTooLow, Victim};
        assert_eq!(text(&[], 0), None);
        assert_eq!(
            text(&[("a", ShareTooLow)], 1).unwrap(),
            "1 candidate: a: the share of its ClusterQueue is too low"
        );
        let all = [("a", Victim), ("b", Victim), ("c", NotReached)];
        assert_eq!(
            text(&all, 3).unwrap(),
            "3 candidates: a, b: preempted; c: not evaluated"
        );
        let many = ["a", "b", "c", "d", "e"].map(|name| (name, Victim));
        assert_eq!(
            text(&many, 60).unwrap(),
            "60 candidates: a, b, c, 2 more: preempted; 55 more"
        );
    }

    #[test]
    fn candidates_that_do_not_suffice_have_what_is_missing() {
        fn text(outcome: CandidateOutcome, shortage: Option<&PreemptionShortageReason>) -> String {
            outcome.text(shortage, &ResourceFormatter::default())
        }
        let mut shortage = PreemptionShortageReason {
            targets: 2,
            borrowing: true,
            resources: vec![ResourceShortage {
                flavor: "spot".into(),
                resource: "cpu".into(),
                freed: 2_000.into(),
                missing: 3_000.into(),
            }],
        };
        let insufficient = CandidateOutcome::Insufficient;
        assert_eq!(
            text(insufficient, Some(&shortage)),
            "not preempted, all of them together do not suffice, 3 more cpu in spot"
        );
        shortage.resources.clear();
        assert!(text(insufficient, Some(&shortage)).ends_with(", no topology assignment is found"));
        assert_eq!(text(CandidateOutcome::Victim, Some(&shortage)), "preempted");
    }
}
