//! [`Timeline`]: the conditions and Events of a run, without values that differ between runs.

use std::collections::{BTreeMap, BTreeSet};

use kueue_lab_testing::recordings;
use regex::Regex;

/// The conditions and Events of a run in a comparable form.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Timeline {
    /// By workload and condition type: `status/reason: message`, in order.
    pub conditions: BTreeMap<(String, String), Vec<String>>,
    /// By `Kind/name`: `type reason action by: message`.
    pub events: BTreeMap<String, BTreeSet<String>>,
}

/// Replaces values that differ between runs: UIDs, hash suffixes of names, wait times.
pub(crate) struct Normalizer {
    uid: Regex,
    name: Regex,
    wait: Regex,
}

impl Normalizer {
    pub(crate) fn new() -> Self {
        let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
        Self {
            uid: Regex::new(uuid).unwrap(),
            name: Regex::new(r"\b(job|pod)-([a-z0-9][a-z0-9-]*?)-[0-9a-f]{5}\b").unwrap(),
            wait: Regex::new(r"(wait time since [a-z ]+ was) \d+s").unwrap(),
        }
    }

    pub(crate) fn normalize(&self, text: &str) -> String {
        let text = self.uid.replace_all(text, "UID");
        let text = self.name.replace_all(&text, "$1-$2");
        self.wait.replace_all(&text, "$1 Ns").into_owned()
    }
}

impl Timeline {
    /// Adds a condition if it differs from the last one of its type.
    pub(crate) fn add_condition(&mut self, workload: &str, type_: &str, text: String) {
        // Not deterministic: whether the status is written before the first scheduling attempt, and whether
        // the garbage collector or the job reconciler is first.
        let deleted = ["job-c1-big", "job-c1-j3", "job-j-mem"].contains(&workload);
        if text.ends_with("Workload is pending evaluation in the scheduling queue")
            || (deleted && text.starts_with("True/OwnerNotFound"))
        {
            return;
        }
        let all = self
            .conditions
            .entry((workload.to_owned(), type_.to_owned()))
            .or_default();
        // Not deterministic: two of upstream's controllers overwrite these conditions alternately.
        let known = ["PodsReady", "Requeued"].contains(&type_) && all.contains(&text);
        if all.last() != Some(&text) && !known {
            all.push(text);
        }
    }

    /// Adds an Event if a component of Kueue reports it.
    pub(crate) fn add_event(&mut self, regarding: String, by: &str, text: String) {
        if by.contains("kueue") {
            // Not deterministic: the member of a pod group that an Event is about.
            let member = regarding.starts_with("Pod/g-");
            let regarding = if member {
                "Pod/g".to_owned()
            } else {
                regarding
            };
            // Not deterministic: the number of attempts, and so the amount in the last Event. The recorder
            // does not write a second Event with the same reason for one version of an object.
            let text = match text.rsplit_once(", ") {
                Some((start, amount)) if amount.ends_with(" more needed") => {
                    format!("{start}, some more needed")
                }
                _ => text,
            };
            self.events.entry(regarding).or_default().insert(text);
        }
    }

    /// A description of each difference.
    pub(crate) fn differences(&self, upstream: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let keys: BTreeSet<_> = self
            .conditions
            .keys()
            .chain(upstream.conditions.keys())
            .collect();
        for key in keys {
            let (ours, theirs) = (self.conditions.get(key), upstream.conditions.get(key));
            if ours != theirs {
                found.push(format!(
                    "{key:?}\n     ours {ours:#?}\n upstream {theirs:#?}"
                ));
            }
        }
        let keys: BTreeSet<_> = self.events.keys().chain(upstream.events.keys()).collect();
        for key in keys {
            let none = BTreeSet::new();
            let ours = self.events.get(key).unwrap_or(&none);
            let theirs = upstream.events.get(key).unwrap_or(&none);
            found.extend(
                ours.difference(theirs)
                    .map(|e| format!("Event on {key}, only ours: {e}")),
            );
            found.extend(
                theirs
                    .difference(ours)
                    .map(|e| format!("Event on {key}, missing: {e}")),
            );
        }
        found
    }
}

/// Reads the recorded timeline of a run.
pub(crate) fn read_timeline(run: &str) -> Timeline {
    let path = recordings("reference-runs").join(run).join("timeline.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let normalizer = Normalizer::new();
    let mut timeline = Timeline::default();
    let condition = Regex::new(r"^\S+ workloads (\S+)\s+cond (\S+): (.*)$").unwrap();
    let event = Regex::new(
        r#"^\S+ EVENT (\S+) (\S+) reason=(\S+) action=(\S+) by=(\S+) rel=\S+ msg=(".*?")( series=\d+)?$"#,
    )
    .unwrap();
    for line in text.lines() {
        if let Some(found) = condition.captures(line) {
            let last = found[3].rsplit("] -> [").next().unwrap();
            let last = format!("[{}", last.trim_start_matches('['));
            // The removal of a condition is not recorded.
            let Ok(parts) = serde_json::from_str::<Vec<String>>(&last) else {
                continue;
            };
            let [status, reason, message] = parts.as_slice() else {
                continue;
            };
            let text = normalizer.normalize(&format!("{status}/{reason}: {message}"));
            timeline.add_condition(&normalizer.normalize(&found[1]), &found[2], text);
        } else if let Some(found) = event.captures(line) {
            let message: String = serde_json::from_str(&found[6]).unwrap();
            let text = format!(
                "{} {} {} {}: {message}",
                &found[1], &found[3], &found[4], &found[5]
            );
            timeline.add_event(
                normalizer.normalize(&found[2]),
                &found[5],
                normalizer.normalize(&text),
            );
        }
    }
    timeline
}
