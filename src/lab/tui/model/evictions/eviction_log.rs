//! The log of evictions.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::{Eviction, InvolvedWorkload};
use crate::model::Row;
use crate::model::condition::ConditionRow;
use crate::model::event::EventRow;
use crate::model::queues::ClusterQueueRow;
use crate::model::store::Store;
use crate::model::workload::WorkloadRow;
use kueue_lab_api::constants::{EVICTED, PREEMPTED, event, evicted};
use kueue_lab_reason::PreemptionMessage;

/// The most evictions kept.
const MAX_EVICTIONS: usize = 2_000;
/// The most seconds between the condition and the Event of one eviction.
const MERGE_WINDOW_SECONDS: i64 = 10;

/// The evictions, in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct EvictionLog {
    entries: VecDeque<Eviction>,
    revision: u64,
}

impl EvictionLog {
    /// All evictions, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &Eviction> {
        self.entries.iter().rev()
    }

    /// The latest eviction of a Workload, by UID.
    pub(crate) fn latest_of(&self, uid: &str) -> Option<&Eviction> {
        self.newest_first().find(|e| e.evicted.uid == uid)
    }

    /// Removes the evictions after a time.
    pub(crate) fn forget_after(&mut self, time: Timestamp) {
        self.entries.retain(|entry| entry.at <= time);
        self.revision += 1;
    }

    /// Increases with every change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Adds the eviction of a Workload, and its name where only its UID was known.
    pub(crate) fn observe_workload(&mut self, wl: &WorkloadRow, queues: &Store<ClusterQueueRow>) {
        self.complete_entries(wl, queues);
        let Some(left) = wl.conditions.when_true(EVICTED) else {
            return;
        };
        let by = wl.conditions.when_true(PREEMPTED);
        let (cond, parsed) = match by {
            Some(by) if left.reason == evicted::PREEMPTED => {
                (by, PreemptionMessage::parse(&by.message))
            }
            _ => (left, PreemptionMessage::default()),
        };
        self.record(from_condition(wl, cond, &parsed), &parsed, queues);
    }

    /// Adds the eviction of an Event.
    pub(crate) fn observe_event(
        &mut self,
        event: &EventRow,
        workloads: &Store<WorkloadRow>,
        queues: &Store<ClusterQueueRow>,
    ) {
        if event.kind != "Workload" || event.uid.is_empty() {
            return;
        }
        let parsed = PreemptionMessage::parse(&event.message);
        let reason = match event.reason.as_str() {
            event::PREEMPTED => parsed.reason().to_owned(),
            other => match other.strip_prefix(event::EVICTED_DUE_TO) {
                Some(evicted::PREEMPTED) | None => return,
                Some(reason) => reason.to_owned(),
            },
        };
        let mut entry = Eviction {
            at: event.at,
            evicted: InvolvedWorkload {
                uid: event.uid.clone(),
                key: event.object.clone(),
                priority: parsed.victim_priority.map(|p| p.effective),
                ..InvolvedWorkload::default()
            },
            reason,
            message: event.message.clone(),
            ..Eviction::default()
        };
        let known = workloads.get(&event.object);
        if let Some(wl) = known.filter(|wl| wl.meta.uid == event.uid) {
            fill_from_workload(&mut entry.evicted, wl);
        }
        self.record(entry, &parsed, queues);
        if let Some(preemptor) = &parsed.preemptor
            && let Some(wl) = workloads.iter().find(|wl| wl.meta.uid == *preemptor)
        {
            self.complete_entries(wl, queues);
        }
    }

    /// Adds an eviction, or merges it into the entry of the same eviction.
    fn record(
        &mut self,
        mut entry: Eviction,
        parsed: &PreemptionMessage,
        queues: &Store<ClusterQueueRow>,
    ) {
        entry.preemptor = parsed.preemptor.as_ref().map(|uid| InvolvedWorkload {
            uid: uid.clone(),
            cluster_queue: last_segment(&parsed.preemptor_path),
            path: parsed.preemptor_path.clone(),
            priority: parsed.preemptor_priority.map(|p| p.effective),
            ..InvolvedWorkload::default()
        });
        if !parsed.victim_path.is_empty() {
            entry.evicted.cluster_queue = last_segment(&parsed.victim_path);
            entry.evicted.path.clone_from(&parsed.victim_path);
        }
        let uid = |e: &Eviction| e.preemptor.as_ref().map(|p| p.uid.clone());
        let same = self.entries.iter_mut().rev().find(|e| {
            e.evicted.uid == entry.evicted.uid
                && uid(e) == uid(&entry)
                && e.at.duration_since(entry.at).as_secs().abs() <= MERGE_WINDOW_SECONDS
        });
        if let Some(known) = same {
            merge(known, entry, queues);
        } else {
            entry.policy = preemption_policy(&entry, queues);
            self.entries.push_back(entry);
            if self.entries.len() > MAX_EVICTIONS {
                self.entries.pop_front();
            }
            // Past Events arrive in any order.
            self.entries.make_contiguous().sort_by_key(|e| e.at);
        }
        self.revision += 1;
    }

    /// Completes the entries that involve this Workload.
    fn complete_entries(&mut self, wl: &WorkloadRow, queues: &Store<ClusterQueueRow>) {
        for entry in self.entries.iter_mut().rev() {
            let mut found = false;
            if entry.evicted.uid == wl.meta.uid && entry.evicted.owner.is_empty() {
                fill_from_workload(&mut entry.evicted, wl);
                found = true;
            }
            if let Some(p) = &mut entry.preemptor
                && p.uid == wl.meta.uid
                && p.key.name.is_empty()
            {
                fill_from_workload(p, wl);
                found = true;
            }
            if found {
                entry.policy = preemption_policy(entry, queues);
                self.revision += 1;
            }
        }
    }
}

/// The current preemption policy of the ClusterQueue of the preemptor that allows the preemption.
fn preemption_policy(entry: &Eviction, queues: &Store<ClusterQueueRow>) -> String {
    let preemptor = entry.preemptor.as_ref();
    let queue = preemptor.and_then(|p| queues.named(&p.cluster_queue));
    queue.map_or_else(String::new, |queue| {
        queue.preemption.policy_for(&entry.reason)
    })
}

fn from_condition(wl: &WorkloadRow, cond: &ConditionRow, parsed: &PreemptionMessage) -> Eviction {
    let mut evicted = InvolvedWorkload {
        priority: parsed.victim_priority.map(|p| p.effective),
        ..InvolvedWorkload::default()
    };
    fill_from_workload(&mut evicted, wl);
    Eviction {
        at: cond.at,
        evicted,
        reason: cond.reason.clone(),
        message: cond.message.clone(),
        ..Eviction::default()
    }
}

/// Completes fields from a Workload.
fn fill_from_workload(involved: &mut InvolvedWorkload, wl: &WorkloadRow) {
    involved.uid.clone_from(&wl.meta.uid);
    involved.key = wl.key().clone();
    involved.owner = wl.owner_text();
    involved.priority = involved.priority.or(Some(wl.priority));
    involved.requests = wl.requests();
    if involved.cluster_queue.is_empty()
        && let Some(admission) = &wl.admission
    {
        involved.cluster_queue.clone_from(&admission.cluster_queue);
    }
}

/// Merges the data of a second source.
fn merge(known: &mut Eviction, new: Eviction, queues: &Store<ClusterQueueRow>) {
    let better = |a: &mut InvolvedWorkload, b: InvolvedWorkload| {
        if a.key.name.is_empty() {
            a.key = b.key;
        }
        if a.owner.is_empty() {
            a.owner = b.owner;
            a.requests = b.requests;
        }
        if a.cluster_queue.is_empty() {
            a.cluster_queue = b.cluster_queue;
        }
        if a.path.is_empty() {
            a.path = b.path;
        }
        a.priority = a.priority.or(b.priority);
    };
    better(&mut known.evicted, new.evicted);
    match (&mut known.preemptor, new.preemptor) {
        (Some(a), Some(b)) => better(a, b),
        (slot @ None, some) => *slot = some,
        (Some(_), None) => {}
    }
    if known.reason == evicted::PREEMPTED || known.reason.is_empty() {
        known.reason = new.reason;
    }
    // The time of an Event has microseconds, that of a condition seconds.
    if new.at.subsec_nanosecond() != 0 {
        known.at = new.at;
    }
    known.policy = preemption_policy(known, queues);
}

fn last_segment(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use kueue_lab_api::constants::preempted;

    use super::*;

    const MESSAGE: &str = "Preempted to accommodate a workload (UID: 8b84, JobUID: 0ade) due to reclamation within the cohort; preemptor path: /team/cq-c2; preemptee path: /team/cq-c1; preemptor effective priority: 1000 (base: 1000, boost: 0); preemptee effective priority: 100 (base: 100, boost: 0)";

    #[test]
    fn the_message_of_a_preemption_is_understood() {
        let parsed = PreemptionMessage::parse(MESSAGE);
        assert_eq!(parsed.preemptor.as_deref(), Some("8b84"));
        assert_eq!(parsed.reason(), preempted::IN_COHORT_RECLAMATION);
        assert_eq!(parsed.preemptor_path, "/team/cq-c2");
        assert_eq!(last_segment(&parsed.victim_path), "cq-c1");
        assert_eq!(
            [parsed.preemptor_priority, parsed.victim_priority].map(|p| p.unwrap().effective),
            [1000, 100]
        );
        assert_eq!(
            PreemptionMessage::parse("Evicted because of rain"),
            PreemptionMessage::default()
        );
    }

    #[test]
    fn event_and_condition_of_one_eviction_are_one_entry() {
        let mut log = EvictionLog::default();
        let queues = Store::default();
        let at = |s: &str| s.parse::<Timestamp>().unwrap();
        let entry = |at| Eviction {
            at,
            evicted: InvolvedWorkload {
                uid: "evicted".to_owned(),
                ..InvolvedWorkload::default()
            },
            reason: preempted::IN_CLUSTER_QUEUE.to_owned(),
            ..Eviction::default()
        };
        let parsed = PreemptionMessage::parse(MESSAGE);
        log.record(entry(at("2026-03-02T12:00:05Z")), &parsed, &queues);
        log.record(entry(at("2026-03-02T12:00:05.25Z")), &parsed, &queues);
        assert_eq!(log.entries.len(), 1);
        assert_eq!(
            log.latest_of("evicted").unwrap().at,
            at("2026-03-02T12:00:05.25Z")
        );
        log.record(entry(at("2026-03-02T12:01:05Z")), &parsed, &queues);
        assert_eq!(log.entries.len(), 2);
    }
}
