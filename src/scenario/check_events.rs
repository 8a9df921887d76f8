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
        let mut of_object = Vec::new();
        let mut reasons = BTreeSet::new();
        let mut number = 0;
        for event in self.events.values() {
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
            let found = text("/reason");
            if glob_matches(reason, found)
                && message.is_none_or(|pattern| glob_matches(pattern, text("/note")))
            {
                let series = event["series"]["count"].as_u64().unwrap_or(1);
                let count = event["deprecatedCount"].as_u64().unwrap_or(1);
                number += usize::try_from(series.max(count)).unwrap_or(usize::MAX);
            } else if !SYSTEM_NAMESPACES.contains(&text("/regarding/namespace")) {
                reasons.insert(found.to_owned());
                of_object.push(format!("{found} of {name}: {}", text("/note")));
            }
        }
        if count.holds(number) {
            return Ok(());
        }
        let mut observed = format!("there are {number}");
        let similar = closest(reason, reasons.iter().map(String::as_str));
        if let Some(similar) = similar.filter(|similar| *similar != reason) {
            observed = format!("{observed}; did you mean {similar:?}?");
        } else if let Some(last) = of_object.last() {
            observed = format!("{observed}; the last other one is {last}");
        }
        Err(Mismatch::new(observed))
    }
}
