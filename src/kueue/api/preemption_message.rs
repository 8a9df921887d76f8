//! [`PreemptionMessage`]: parses the messages of preemptions. No other field of the objects of a
//! cluster has the name, priority and paths of a preemptor.

use crate::constants::{evicted, preempted};
use crate::v1beta2::ClusterQueuePreemption;

/// The annotation of the Event of a preemption with its candidates as JSON. Events of upstream
/// Kueue do not have it.
pub const CANDIDATES_ANNOTATION: &str = "kueue-lab.dev/preemption-candidates";

/// A parsed message of the `Preempted` condition or Event of a Workload. Unknown parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreemptionMessage {
    /// The UID of the preemptor.
    pub preemptor: Option<String>,
    /// The cause, such as `reclamation within the cohort`.
    pub cause_text: String,
    /// The path of the preemptor's ClusterQueue from the root cohort.
    pub preemptor_path: String,
    /// The path of the preempted Workload's ClusterQueue from the root cohort.
    pub victim_path: String,
    /// The effective priority of the preemptor; Events have it.
    pub preemptor_priority: Option<i64>,
    /// The effective priority of the preempted Workload; Events have it.
    pub victim_priority: Option<i64>,
}

impl PreemptionMessage {
    /// Parses a message. All parts of a message that is not about a preemption are unknown.
    pub fn parse(message: &str) -> Self {
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
            preemptor: preemptor_uid(message).map(str::to_owned),
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

    /// The reason of the condition for the cause in the message, such as `InCohortReclamation`.
    pub fn reason(&self) -> &'static str {
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

    /// The ClusterQueue of the preemptor, the last part of its path.
    pub fn preemptor_queue(&self) -> &str {
        self.preemptor_path.rsplit('/').next().unwrap_or_default()
    }
}

/// The UID of the Workload for which another one was preempted, replaced or migrated.
pub fn preemptor_uid(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("(UID: ")?;
    let uid = rest.split([',', ';', ')', ' ']).next();
    uid.filter(|uid| !uid.is_empty())
}

impl ClusterQueuePreemption {
    /// The policy of the preemptor's ClusterQueue that allows preemptions for a reason, such as
    /// `reclaimWithinCohort: Any`; empty for other reasons.
    pub fn policy_for(&self, reason: &str) -> String {
        match reason {
            preempted::IN_CLUSTER_QUEUE => {
                format!("withinClusterQueue: {}", self.within_cluster_queue())
            }
            preempted::IN_COHORT_RECLAMATION => {
                format!("reclaimWithinCohort: {}", self.reclaim_within_cohort())
            }
            preempted::IN_COHORT_RECLAIM_WHILE_BORROWING => {
                let borrow = self.borrow_within_cohort.as_ref();
                let threshold = borrow
                    .and_then(|b| b.max_priority_threshold)
                    .map_or_else(String::new, |t| format!(" up to priority {t}"));
                format!(
                    "borrowWithinCohort: {}{threshold}",
                    self.borrow_within_cohort()
                )
            }
            preempted::IN_COHORT_FAIR_SHARING => format!(
                "fair sharing, reclaimWithinCohort: {}",
                self.reclaim_within_cohort()
            ),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preemptor_is_the_first_uid_of_a_message() {
        let replaced = "Replaced to accommodate a workload (UID: u-1, JobUID: j) due to workload slice aggregation";
        assert_eq!(preemptor_uid(replaced), Some("u-1"));
        let migrated = "Evicted to accommodate a workload (UID: u-2) due to migration to more favorable resource flavor";
        assert_eq!(preemptor_uid(migrated), Some("u-2"));
        assert_eq!(
            PreemptionMessage::parse(migrated),
            PreemptionMessage::default()
        );
        assert_eq!(preemptor_uid("The ClusterQueue is stopped"), None);
    }
}
