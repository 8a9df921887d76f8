//! [`PreemptionMessage`]: the message of a preemption, rendered and parsed. No other field of the objects of a cluster
//! has the name, priority and paths of a preemptor.

use std::fmt::Write;

use crate::PreemptionReason;
use kueue_lab_api::constants::evicted;

/// What upstream writes in place of something that it does not know.
const UNKNOWN: &str = "UNKNOWN";

impl PreemptionReason {
    /// The reason in messages.
    pub fn human_readable(self) -> &'static str {
        match self {
            PreemptionReason::InClusterQueue => "prioritization in the ClusterQueue",
            PreemptionReason::InCohortReclamation => "reclamation within the cohort",
            PreemptionReason::InCohortFairSharing => "Fair Sharing within the cohort",
            PreemptionReason::InCohortReclaimWhileBorrowing => {
                "reclamation within the cohort while borrowing"
            }
        }
    }
}

/// The message of the `Preempted` condition or Event of a Workload. Unknown parts are none or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreemptionMessage {
    /// The UID of the preemptor.
    pub preemptor: Option<String>,
    /// The UID of its job.
    pub preemptor_job: Option<String>,
    /// The cause, such as `reclamation within the cohort`.
    pub cause_text: String,
    /// The path of the preemptor's ClusterQueue from the root cohort.
    pub preemptor_path: String,
    /// The path of the preempted Workload's ClusterQueue from the root cohort.
    pub victim_path: String,
    /// The priority of the preemptor; Events have it.
    pub preemptor_priority: Option<MessagePriority>,
    /// The priority of the preempted Workload; Events have it.
    pub victim_priority: Option<MessagePriority>,
}

/// A priority in the message of a preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePriority {
    /// The effective priority.
    pub effective: i64,
    /// The priority without the boost.
    pub base: i32,
}

impl std::fmt::Display for MessagePriority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MessagePriority { effective, base } = self;
        let boost = effective - i64::from(*base);
        write!(f, "{effective} (base: {base}, boost: {boost})")
    }
}

impl PreemptionMessage {
    /// The message.
    pub fn message(&self) -> String {
        let or_unknown = |text: &str| match text {
            "" => UNKNOWN.to_owned(),
            text => text.to_owned(),
        };
        let uid = |uid: &Option<String>| or_unknown(uid.as_deref().unwrap_or_default());
        let mut message = format!(
            "Preempted to accommodate a workload (UID: {}, JobUID: {}) due to {}; preemptor path: {}; preemptee path: {}",
            uid(&self.preemptor),
            uid(&self.preemptor_job),
            or_unknown(&self.cause_text),
            or_unknown(&self.preemptor_path),
            or_unknown(&self.victim_path),
        );
        if let Some((preemptor, victim)) = self.preemptor_priority.zip(self.victim_priority) {
            let _ = write!(message, "; {}", Self::priorities_text(preemptor, victim));
        }
        message
    }

    /// The priorities in Events.
    pub fn priorities_text(preemptor: MessagePriority, victim: MessagePriority) -> String {
        format!("preemptor effective priority: {preemptor}; preemptee effective priority: {victim}")
    }

    /// Parses a message. All parts of a message that is not about a preemption are unknown.
    pub fn parse(message: &str) -> Self {
        let after = |mark: &str| message.split_once(mark).map(|(_, rest)| rest);
        let known = |text: &str| (!text.is_empty() && text != UNKNOWN).then(|| text.to_owned());
        let word = |mark: &str| known(after(mark)?.split([',', ';', ')', ' ']).next()?);
        let path = |mark: &str| word(mark).unwrap_or_default();
        let priority = |mark: &str| {
            let rest = after(mark)?;
            let (effective, rest) = rest.split_once(" (base: ")?;
            Some(MessagePriority {
                effective: effective.parse().ok()?,
                base: rest.split_once(',')?.0.parse().ok()?,
            })
        };
        if !message.starts_with("Preempted to accommodate") {
            return Self::default();
        }
        let cause = after(") due to ").and_then(|rest| rest.split(';').next());
        Self {
            preemptor: preemptor_uid(message).and_then(known),
            preemptor_job: word("JobUID: "),
            cause_text: cause.and_then(known).unwrap_or_default(),
            preemptor_path: path("preemptor path: "),
            victim_path: path("preemptee path: "),
            preemptor_priority: priority("preemptor effective priority: "),
            victim_priority: priority("preemptee effective priority: "),
        }
    }

    /// The reason of the condition for the cause in the message, such as `InCohortReclamation`.
    pub fn reason(&self) -> &'static str {
        let mut reasons = PreemptionReason::ALL.into_iter();
        let reason = reasons.find(|reason| reason.human_readable() == self.cause_text);
        reason.map_or(evicted::PREEMPTED, PreemptionReason::as_str)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    fn uid() -> impl Strategy<Value = Option<String>> {
        prop::option::of("[a-z0-9][a-z0-9-]{0,12}")
    }

    fn path() -> impl Strategy<Value = String> {
        "(/[a-z0-9][a-z0-9.-]{0,6}){0,3}"
    }

    fn priority() -> impl Strategy<Value = MessagePriority> {
        (any::<i32>(), any::<i32>()).prop_map(|(base, boost)| MessagePriority {
            effective: i64::from(base) + i64::from(boost),
            base,
        })
    }

    proptest! {
        #[test]
        fn a_rendered_message_is_parsed_to_itself(
            preemptor in uid(),
            preemptor_job in uid(),
            reason in prop::option::of(prop::sample::select(PreemptionReason::ALL.to_vec())),
            preemptor_path in path(),
            victim_path in path(),
            priorities in prop::option::of((priority(), priority())),
        ) {
            let message = PreemptionMessage {
                preemptor,
                preemptor_job,
                cause_text: reason.map_or_else(String::new, |r| r.human_readable().to_owned()),
                preemptor_path,
                victim_path,
                preemptor_priority: priorities.map(|(preemptor, _)| preemptor),
                victim_priority: priorities.map(|(_, victim)| victim),
            };
            let text = message.message();
            prop_assert_eq!(PreemptionMessage::parse(&text), message, "{}", text);
        }
    }
}
