//! [`EvictionConditions`]: why a Workload was evicted last.

use std::collections::BTreeMap;

use kueue_lab_api::constants as c;
use kueue_lab_json::ValueExt;
use kueue_lab_reason::PreemptionMessage;
use serde_json::Value;

/// The beginning of the message of a condition that was reset when quota was reserved again.
const PREVIOUSLY: &str = "Previously: ";

/// The reason and the message of an eviction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EvictionReason {
    /// The reason of the `Preempted` condition, such as `InCohortReclamation`, or else of the `Evicted` one.
    pub(crate) reason: String,
    /// The message.
    pub(crate) message: String,
}

/// The `Evicted` and `Preempted` conditions of a Workload. Both are reset when it gets quota again, and then
/// do not have their reasons any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EvictionConditions {
    evicted: Option<EvictionCondition>,
    preempted: Option<EvictionCondition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct EvictionCondition {
    is_true: bool,
    reason: String,
    /// Without `Previously: `.
    message: String,
}

impl EvictionConditions {
    /// The conditions of a Workload.
    pub(crate) fn of(workload: &Value) -> Self {
        let condition = |type_: &str| {
            let found = workload.condition(type_)?;
            let message = found.text("/message");
            Some(EvictionCondition {
                is_true: found.text("/status") == "True",
                reason: found.text("/reason").to_owned(),
                message: message
                    .strip_prefix(PREVIOUSLY)
                    .unwrap_or(message)
                    .to_owned(),
            })
        };
        Self {
            evicted: condition(c::EVICTED),
            preempted: condition(c::PREEMPTED),
        }
    }

    /// The last eviction. `before` and `after` are the numbers of evictions by reason: one of those that grew
    /// is its reason.
    pub(crate) fn last(
        &self,
        before: &BTreeMap<String, i64>,
        after: &BTreeMap<String, i64>,
    ) -> EvictionReason {
        let Some(evicted) = &self.evicted else {
            return EvictionReason::default();
        };
        let preempted = self.preempted.as_ref();
        if evicted.is_true {
            let is_preemption = evicted.reason == c::evicted::PREEMPTED;
            let last = preempted.filter(|preempted| is_preemption && preempted.is_true);
            let last = last.unwrap_or(evicted);
            return EvictionReason {
                reason: last.reason.clone(),
                message: last.message.clone(),
            };
        }
        let grew = |(reason, count): &(&String, &i64)| {
            before.get(*reason).copied().unwrap_or_default() < **count
        };
        let grown = after.iter().filter(grew).map(|(reason, _)| reason.as_str());
        let (preemptions, others): (Vec<&str>, Vec<&str>) =
            grown.partition(|reason| *reason == c::evicted::PREEMPTED);
        let has_message = |preempted: &EvictionCondition| preempted.message == evicted.message;
        let is_preemption =
            !preemptions.is_empty() && (others.is_empty() || preempted.is_some_and(has_message));
        let message = evicted.message.clone();
        let reason = match is_preemption {
            true => PreemptionMessage::parse(&message).reason(),
            false => others.first().copied().unwrap_or_default(),
        };
        EvictionReason {
            reason: reason.to_owned(),
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PREEMPTED: &str = "Preempted to accommodate a workload (UID: a, JobUID: b) due to reclamation within the cohort; preemptor path: /all/x; preemptee path: /all/y";

    fn last(conditions: Value, before: &[(&str, i64)], after: &[(&str, i64)]) -> (String, String) {
        let workload = json!({"status": {"conditions": conditions}});
        let [before, after] = [before, after].map(|counts| {
            let counts = counts.iter();
            counts
                .map(|(reason, count)| ((*reason).to_owned(), *count))
                .collect()
        });
        let EvictionReason { reason, message } =
            EvictionConditions::of(&workload).last(&before, &after);
        (reason, message)
    }

    fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({"type": type_, "status": status, "reason": reason, "message": message})
    }

    #[test]
    fn a_preemption_before_the_last_admission_is_not_the_reason() {
        let old = condition(
            "Preempted",
            "False",
            "QuotaReserved",
            &format!("Previously: {PREEMPTED}"),
        );
        let stopped = "The ClusterQueue is stopped";
        let counts = [("ClusterQueueStopped", 1), ("Preempted", 1)];
        let now = condition("Evicted", "True", "ClusterQueueStopped", stopped);
        assert_eq!(
            last(json!([now, old]), &[("Preempted", 1)], &counts),
            ("ClusterQueueStopped".to_owned(), stopped.to_owned())
        );
        // Also if it was admitted again since.
        let message = format!("Previously: {stopped}");
        let reset = condition("Evicted", "False", "QuotaReserved", &message);
        assert_eq!(
            last(json!([reset, old]), &[("Preempted", 1)], &counts),
            ("ClusterQueueStopped".to_owned(), stopped.to_owned())
        );
    }

    #[test]
    fn a_preemption_has_its_reason_also_after_the_next_admission() {
        let expected = ("InCohortReclamation".to_owned(), PREEMPTED.to_owned());
        let both = json!([
            condition("Evicted", "True", "Preempted", PREEMPTED),
            condition("Preempted", "True", "InCohortReclamation", PREEMPTED),
        ]);
        assert_eq!(last(both, &[], &[("Preempted", 1)]), expected);
        let message = format!("Previously: {PREEMPTED}");
        let reset = json!([
            condition("Evicted", "False", "QuotaReserved", &message),
            condition("Preempted", "False", "QuotaReserved", &message),
        ]);
        assert_eq!(last(reset, &[], &[("Preempted", 1)]), expected);
    }
}
