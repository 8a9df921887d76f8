//! [`AlternatingMessages`]: a Workload whose message alternates.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::detected_loop::{DetectedLoop, LoopKind};

/// Updates that are this old do not count.
const WINDOW: SignedDuration = SignedDuration::from_mins(1);
/// This many updates within [`RATE_WINDOW`] are a loop. Without a loop a Workload is evaluated
/// about once a second: inadmissible workloads are requeued in batches.
const UPDATES: usize = 15;
const RATE_WINDOW: SignedDuration = SignedDuration::from_secs(10);
/// The maximum number of texts of a loop.
const MAX_TEXTS: usize = 4;
/// The maximum number of recorded updates of a Workload.
const MAX_UPDATES: usize = 512;
/// Workloads beyond which those without recent updates are removed.
const MAX_WORKLOADS: usize = 4096;

/// An update of the message.
#[derive(Clone, Debug)]
struct Update {
    at: Timestamp,
    message: String,
}

/// The recent updates of the messages, by UID.
#[derive(Clone, Debug, Default)]
pub(super) struct AlternatingMessages(BTreeMap<String, VecDeque<Update>>);

impl AlternatingMessages {
    /// Records a message; returns whether the Workload is in a loop.
    pub(super) fn record(&mut self, at: Timestamp, uid: &str, message: &str) -> bool {
        if self.0.len() > MAX_WORKLOADS {
            self.0.retain(|_, updates| {
                let last = updates.back();
                last.is_some_and(|last| at.duration_since(last.at) <= WINDOW)
            });
        }
        let updates = self.0.entry(uid.to_owned()).or_default();
        let last = updates.back();
        if last.is_some_and(|last| last.message == message || last.at >= at) {
            return false;
        }
        let message = message.to_owned();
        updates.push_back(Update { at, message });
        let old = |update: &Update| at.duration_since(update.at) > WINDOW;
        while updates.len() > MAX_UPDATES || updates.front().is_some_and(old) {
            updates.pop_front();
        }
        loop_of(uid, updates, at).is_some()
    }

    /// The loops.
    pub(super) fn loops(&self, now: Timestamp) -> impl Iterator<Item = DetectedLoop> {
        let all = self.0.iter();
        all.filter_map(move |(uid, updates)| loop_of(uid, updates, now))
    }
}

/// The loop of a Workload with these updates, if it is in one.
fn loop_of(uid: &str, updates: &VecDeque<Update>, now: Timestamp) -> Option<DetectedLoop> {
    let mut latest = updates.iter().rev();
    let start = now.saturating_sub(RATE_WINDOW).unwrap_or(now);
    if latest.nth(UPDATES - 1)?.at < start {
        return None;
    }
    let texts: BTreeSet<&str> = updates.iter().map(|u| u.message.as_str()).collect();
    if texts.len() > MAX_TEXTS {
        return None;
    }
    Some(DetectedLoop {
        kind: LoopKind::AlternatingMessages(texts.len()),
        uids: vec![uid.to_owned()],
        names: Vec::new(),
        count: updates.len(),
        since: updates.front()?.at,
        last: updates.back()?.at,
    })
}
