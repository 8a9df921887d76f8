//! Parsing of preemption messages: preemptor, cause and cohort paths.

use kueue_lab_api::constants::{evicted, preempted};

/// A parsed preemption message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::model) struct PreemptionMessage {
    pub(in crate::model) preemptor: Option<String>,
    pub(super) cause_text: String,
    pub(super) preemptor_path: String,
    pub(super) victim_path: String,
    pub(super) preemptor_priority: Option<i64>,
    pub(super) victim_priority: Option<i64>,
}

impl PreemptionMessage {
    pub(in crate::model) fn parse(message: &str) -> Self {
        let after = |mark: &str| message.split_once(mark).map(|(_, rest)| rest);
        let word = |mark: &str| {
            let rest = after(mark)?;
            rest.split([',', ';', ')', ' '])
                .next()
                .filter(|w| !w.is_empty())
        };
        let path = |mark: &str| word(mark).unwrap_or_default().to_owned();
        let number = |mark: &str| word(mark)?.parse().ok();
        if !message.starts_with("Preempted to accommodate") {
            return Self::default();
        }
        Self {
            preemptor: word("(UID: ").map(str::to_owned),
            cause_text: after(") due to ")
                .and_then(|rest| rest.split(';').next())
                .unwrap_or_default()
                .to_owned(),
            preemptor_path: path("preemptor path: "),
            victim_path: path("preemptee path: "),
            preemptor_priority: number("preemptor effective priority: "),
            victim_priority: number("preemptee effective priority: "),
        }
    }

    /// The reason for the cause in the message.
    pub(super) fn reason(&self) -> &'static str {
        match self.cause_text.as_str() {
            "prioritization in the ClusterQueue" => preempted::IN_CLUSTER_QUEUE,
            "reclamation within the cohort" => preempted::IN_COHORT_RECLAMATION,
            "Fair Sharing within the cohort" => preempted::IN_COHORT_FAIR_SHARING,
            "reclamation within the cohort while borrowing" => {
                preempted::IN_COHORT_RECLAIM_WHILE_BORROWING
            }
            _ => evicted::PREEMPTED,
        }
    }
}
