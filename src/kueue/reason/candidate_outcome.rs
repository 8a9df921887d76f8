//! [`CandidateOutcome`]: what became of a preemption candidate, and why it is one.

use serde::{Deserialize, Serialize};

use crate::{PreemptionShortageReason, TextStyle};

/// The reason of a preemption candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreemptionVariant {
    /// It is in the preemptor's ClusterQueue.
    WithinClusterQueue,
    /// The preemptor has hierarchical advantage over it.
    HierarchicalReclaim,
    /// Its ClusterQueue borrows, and the preemptor's would not borrow.
    ReclaimWithoutBorrowing,
    /// Its ClusterQueue borrows, and its priority is low enough for a preemptor that borrows.
    ReclaimWhileBorrowing,
    /// Its ClusterQueue borrows, and shares are compared.
    FairSharing,
}

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

/// The outcome of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CandidateOutcome {
    /// It is a preemption target.
    Victim,
    /// It was a target, but was added back, since the other targets suffice.
    Spared,
    /// It was a target, but the preemption of all targets does not suffice.
    Insufficient,
    /// It was no longer valid: its ClusterQueue or cohort was within nominal quota, or the
    /// preemptor would have borrowed.
    NotAllowed,
    /// The fair sharing strategies do not allow it.
    ShareTooLow,
    /// The workload fit before it was considered.
    NotReached,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResourceShortage;
    use crate::resources::ResourceFormatter;

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
