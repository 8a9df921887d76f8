//! What upstream did: the timeline of a story, by workload and object, without what differs by nature.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use regex::Regex;

/// What happened, in a form that can be compared.
#[derive(Debug, Default, PartialEq)]
pub struct Timeline {
    /// By workload and condition type: `status/reason: message`, in order.
    pub conditions: BTreeMap<(String, String), Vec<String>>,
    /// By `Kind/name`: `type reason action by: message`.
    pub events: BTreeMap<String, BTreeSet<String>>,
}

/// Takes out what differs from run to run: UIDs, hashes in names, waiting times.
pub struct Normalizer {
    uid: Regex,
    name: Regex,
    wait: Regex,
}

impl Normalizer {
    pub fn new() -> Self {
        let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
        Self {
            uid: Regex::new(uuid).unwrap(),
            name: Regex::new(r"\b(job|pod)-([a-z0-9][a-z0-9-]*?)-[0-9a-f]{5}\b").unwrap(),
            wait: Regex::new(r"(wait time since [a-z ]+ was) \d+s").unwrap(),
        }
    }

    pub fn normalize(&self, text: &str) -> String {
        let text = self.uid.replace_all(text, "UID");
        let text = self.name.replace_all(&text, "$1-$2");
        self.wait.replace_all(&text, "$1 Ns").into_owned()
    }
}

impl Timeline {
    /// A condition, where it is not the one that was told last.
    pub fn add_condition(&mut self, workload: &str, type_: &str, text: String) {
        // Whether a Workload is still waiting to be looked at when somebody looks depends on chance,
        // and so does whether the garbage collector is quicker than the job's own controller.
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
        // How often these are looked at anew depends on who sees what when: upstream's own parts
        // undo each other's news for a moment.
        let known = ["PodsReady", "Requeued"].contains(&type_) && all.contains(&text);
        if all.last() != Some(&text) && !known {
            all.push(text);
        }
    }

    /// An Event, where a part of Kueue tells it.
    pub fn add_event(&mut self, regarding: String, by: &str, text: String) {
        if by.contains("kueue") {
            // Which pod speaks for a group is chance.
            let member = regarding.starts_with("Pod/g-");
            let regarding = if member {
                "Pod/g".to_owned()
            } else {
                regarding
            };
            // The second of two Events of one sort about one version of an object is not seen,
            // whatever its amount; how often a waiting workload is looked at is chance.
            let text = match text.rsplit_once(", ") {
                Some((start, amount)) if amount.ends_with(" more needed") => {
                    format!("{start}, some more needed")
                }
                _ => text,
            };
            self.events.entry(regarding).or_default().insert(text);
        }
    }

    /// What is in one and not in the other, for people.
    pub fn differences(&self, upstream: &Self) -> Vec<String> {
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
                    .map(|e| format!("Event on {key}, ours alone: {e}")),
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

fn recordings_dir() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/reference-runs"
    ))
}

/// Reads the timeline of a story. Nothing where there is none.
pub fn read_timeline(story: &str) -> Option<Timeline> {
    let path = recordings_dir().join(story).join("timeline.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    let plain = Normalizer::new();
    let mut told = Timeline::default();
    let condition = Regex::new(r"^\S+ workloads (\S+)\s+cond (\S+): (.*)$").unwrap();
    let event = Regex::new(
        r#"^\S+ EVENT (\S+) (\S+) reason=(\S+) action=(\S+) by=(\S+) rel=\S+ msg=(".*?")( series=\d+)?$"#,
    )
    .unwrap();
    for line in text.lines() {
        if let Some(found) = condition.captures(line) {
            let last = found[3].rsplit("] -> [").next().unwrap();
            let last = format!("[{}", last.trim_start_matches('['));
            // A condition that goes away is not one.
            let Ok(parts) = serde_json::from_str::<Vec<String>>(&last) else {
                continue;
            };
            let [status, reason, message] = parts.as_slice() else {
                continue;
            };
            let text = plain.normalize(&format!("{status}/{reason}: {message}"));
            told.add_condition(&plain.normalize(&found[1]), &found[2], text);
        } else if let Some(found) = event.captures(line) {
            let message: String = serde_json::from_str(&found[6]).unwrap();
            let text = format!(
                "{} {} {} {}: {message}",
                &found[1], &found[3], &found[4], &found[5]
            );
            told.add_event(
                plain.normalize(&found[2]),
                &found[5],
                plain.normalize(&text),
            );
        }
    }
    Some(told)
}
