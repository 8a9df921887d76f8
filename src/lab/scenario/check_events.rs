//! Checks expectations of Events.

use std::collections::BTreeSet;

use kueue_lab_yaml::closest;
use serde_json::Value;

use super::comparison::Comparison;
use super::glob::{glob_matches, matches_job};
use super::mismatch::Mismatch;
use super::observed_state::ObservedState;

/// The namespaces whose Events are not those of a test's objects.
const SYSTEM_NAMESPACES: [&str; 2] = ["kube-system", "kueue-system"];

/// The number of Events listed in a mismatch.
const MAX_SHOWN: usize = 3;

/// The Events of some objects.
struct FoundEvents {
    /// The number of occurrences of the Events that match.
    number: usize,
    /// Those that match, as text, the oldest first.
    matching: Vec<String>,
    /// The others, as text, the oldest first.
    others: Vec<String>,
    /// The reasons of the others.
    reasons: BTreeSet<String>,
}

impl ObservedState {
    /// Checks the number of Events with a reason, of an object and with a message.
    pub(super) fn check_events(
        &self,
        reason: &str,
        kind: Option<&str>,
        object: Option<&[String]>,
        message: Option<&str>,
        count: &Comparison,
    ) -> Result<(), Mismatch> {
        let found = self.find_events(reason, kind, object, message);
        if count.holds(found.number) {
            return Ok(());
        }
        let mut observed = found.text();
        let reasons = found.reasons.iter().map(String::as_str);
        let similar = closest(reason, reasons).filter(|similar| *similar != reason);
        if !found.matching.is_empty() {
            // Only the number of Events is wrong.
        } else if let Some(similar) = similar {
            observed = format!("{observed}; did you mean {similar:?}?");
        } else if let Some(last) = found.others.last() {
            observed = format!("{observed}; the last other one is {last}");
        }
        Err(Mismatch::new(observed))
    }

    /// The Events with a reason, of an object and with a message, as text.
    pub(super) fn describe_events(
        &self,
        reason: &str,
        kind: Option<&str>,
        object: Option<&[String]>,
        message: Option<&str>,
    ) -> String {
        self.find_events(reason, kind, object, message).text()
    }

    fn find_events(
        &self,
        reason: &str,
        kind: Option<&str>,
        object: Option<&[String]>,
        message: Option<&str>,
    ) -> FoundEvents {
        let mut found = FoundEvents {
            number: 0,
            matching: Vec::new(),
            others: Vec::new(),
            reasons: BTreeSet::new(),
        };
        let mut events: Vec<&Value> = self.events.values().collect();
        events.sort_by_key(|event| event["metadata"]["creationTimestamp"].as_str());
        for event in events {
            let text = |pointer: &str| {
                let text = event.pointer(pointer).and_then(Value::as_str);
                text.unwrap_or_default()
            };
            let (namespace, name) = (text("/regarding/namespace"), text("/regarding/name"));
            let workload = self.history.by_uid(text("/regarding/uid"));
            let matches = |pattern: &String| {
                matches_job(pattern, namespace, [name])
                    || workload.is_some_and(|workload| workload.matches(pattern))
            };
            let is_object = kind.is_none_or(|kind| text("/regarding/kind") == kind)
                && object.is_none_or(|patterns| patterns.iter().any(matches));
            if !is_object {
                continue;
            }
            let of_event = text("/reason");
            let line = || format!("{of_event} of {name}: {}", text("/note"));
            if glob_matches(reason, of_event)
                && message.is_none_or(|pattern| glob_matches(pattern, text("/note")))
            {
                let series = event["series"]["count"].as_u64().unwrap_or(1);
                let count = event["deprecatedCount"].as_u64().unwrap_or(1);
                let times = usize::try_from(series.max(count)).unwrap_or(usize::MAX);
                found.number = found.number.saturating_add(times);
                found.matching.push(line());
            } else if !SYSTEM_NAMESPACES.contains(&text("/regarding/namespace")) {
                found.reasons.insert(of_event.to_owned());
                found.others.push(line());
            }
        }
        found
    }
}

impl FoundEvents {
    /// The number of those that match, with the last ones.
    fn text(&self) -> String {
        let verb = if self.number == 1 { "is" } else { "are" };
        let number = format!("there {verb} {}", self.number);
        let hidden = self.matching.len().saturating_sub(MAX_SHOWN);
        let shown = self.matching[hidden..].join("; ");
        match (self.matching.is_empty(), hidden) {
            (true, _) => number,
            (false, 0) => format!("{number}: {shown}"),
            (false, _) => format!("{number}, the last ones: {shown}"),
        }
    }
}
