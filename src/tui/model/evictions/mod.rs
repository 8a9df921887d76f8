//! The feed of evictions: who had to leave, for whom, for what reason and under which policy.
//!
//! Put together from the conditions of Workloads and from Events, because neither is enough: the
//! conditions of a plain pod's Workload go with the pod, and an old cluster's Events may be gone.

mod preemption_message;
mod preemption_policy;

use std::collections::VecDeque;

use jiff::Timestamp;

use super::condition::ConditionRow;
use super::event::EventRow;
use super::meta::Requests;
use super::queues::ClusterQueueRow;
use super::store::Store;
use super::workload::WorkloadRow;
use super::{NamespacedName, Row};
use kueue_lab_api::constants::{EVICTED, PREEMPTED, event, evicted, preempted};
use preemption_message::PreemptionMessage;
use preemption_policy::preemption_policy;

/// The most evictions that are kept.
const MAX_EVICTIONS: usize = 2_000;
/// Seconds within which condition and Event of one eviction appear.
const MERGE_WINDOW_SECONDS: i64 = 10;

/// One of the two workloads of an eviction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvolvedWorkload {
    /// UID of the Workload.
    pub uid: String,
    /// Namespace and name; an empty name while they are not known.
    pub key: NamespacedName,
    /// What the Workload was made for.
    pub owner: String,
    /// Its ClusterQueue.
    pub cluster_queue: String,
    /// Where its ClusterQueue stands in the cohorts, written as a path.
    pub path: String,
    /// Its priority at the time.
    pub priority: Option<i64>,
    /// What it asked for.
    pub requests: Requests,
}

impl InvolvedWorkload {
    /// The name, or as much of the UID as identifies it.
    pub fn display_name(&self) -> String {
        if self.key.name.is_empty() {
            format!("workload {}", self.uid.get(..8).unwrap_or(&self.uid))
        } else {
            self.key.to_string()
        }
    }
}

/// A workload that lost its admission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eviction {
    /// When.
    pub at: Timestamp,
    /// Who had to leave.
    pub victim: InvolvedWorkload,
    /// For whom, if for another workload.
    pub preemptor: Option<InvolvedWorkload>,
    /// Reason of the Preempted condition, or of Evicted where nobody preempted.
    pub reason: String,
    /// The setting that allowed it.
    pub policy: String,
    /// The condition's message.
    pub message: String,
}

impl Eviction {
    /// The reason in words.
    pub fn reason_text(&self) -> &str {
        match self.reason.as_str() {
            preempted::IN_CLUSTER_QUEUE => "priority in the queue",
            preempted::IN_COHORT_RECLAMATION => "reclaims lent quota",
            preempted::IN_COHORT_FAIR_SHARING => "fair share",
            preempted::IN_COHORT_RECLAIM_WHILE_BORROWING => "priority while borrowing",
            evicted::PREEMPTED => "preemption",
            evicted::PODS_READY_TIMEOUT => "pods not ready",
            evicted::ADMISSION_CHECK => "admission check",
            evicted::CLUSTER_QUEUE_STOPPED => "ClusterQueue stopped",
            evicted::LOCAL_QUEUE_STOPPED => "LocalQueue stopped",
            evicted::NODE_FAILURES => "node failures",
            evicted::FLAVOR_MIGRATION => "better flavor",
            other if other.starts_with(evicted::DEACTIVATED) => "deactivated",
            other => other,
        }
    }
}

/// Evictions in the order in which they became known.
#[derive(Clone, Debug, Default)]
pub struct EvictionLog {
    entries: VecDeque<Eviction>,
    revision: u64,
}

impl EvictionLog {
    /// Newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &Eviction> {
        self.entries.iter().rev()
    }

    /// The latest eviction of the Workload with that UID.
    pub fn latest_of(&self, uid: &str) -> Option<&Eviction> {
        self.newest_first().find(|e| e.victim.uid == uid)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Goes up with every change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Learns from a Workload: its eviction, and its name where only the UID was known.
    pub fn observe_workload(&mut self, wl: &WorkloadRow, queues: &Store<ClusterQueueRow>) {
        self.complete_entries(wl, queues);
        let Some(left) = wl.conditions.when_true(EVICTED) else {
            return;
        };
        let by = wl.conditions.when_true(PREEMPTED);
        let (cond, said) = match by {
            Some(by) if left.reason == evicted::PREEMPTED => {
                (by, PreemptionMessage::parse(&by.message))
            }
            _ => (left, PreemptionMessage::default()),
        };
        self.record(from_condition(wl, cond, &said), &said, queues);
    }

    /// Learns from an Event.
    pub fn observe_event(
        &mut self,
        event: &EventRow,
        workloads: &Store<WorkloadRow>,
        queues: &Store<ClusterQueueRow>,
    ) {
        if event.kind != "Workload" || event.uid.is_empty() {
            return;
        }
        let said = PreemptionMessage::parse(&event.message);
        let reason = match event.reason.as_str() {
            event::PREEMPTED => said.reason().to_owned(),
            other => match other.strip_prefix(event::EVICTED_DUE_TO) {
                Some(evicted::PREEMPTED) | None => return,
                Some(reason) => reason.to_owned(),
            },
        };
        let mut entry = Eviction {
            at: event.at,
            victim: InvolvedWorkload {
                uid: event.uid.clone(),
                key: event.object.clone(),
                priority: said.victim_priority,
                ..InvolvedWorkload::default()
            },
            reason,
            message: event.message.clone(),
            ..Eviction::default()
        };
        let known = workloads.get(&event.object);
        if let Some(wl) = known.filter(|wl| wl.meta.uid == event.uid) {
            fill_from_workload(&mut entry.victim, wl);
        }
        self.record(entry, &said, queues);
        if let Some(preemptor) = &said.preemptor
            && let Some(wl) = workloads.iter().find(|wl| wl.meta.uid == *preemptor)
        {
            self.complete_entries(wl, queues);
        }
    }

    /// Puts the entry into the feed, or what is new in it into the entry of the same eviction.
    fn record(
        &mut self,
        mut entry: Eviction,
        said: &PreemptionMessage,
        queues: &Store<ClusterQueueRow>,
    ) {
        entry.preemptor = said.preemptor.as_ref().map(|uid| InvolvedWorkload {
            uid: uid.clone(),
            cluster_queue: last_segment(&said.preemptor_path),
            path: said.preemptor_path.clone(),
            priority: said.preemptor_priority,
            ..InvolvedWorkload::default()
        });
        if !said.victim_path.is_empty() {
            entry.victim.cluster_queue = last_segment(&said.victim_path);
            entry.victim.path.clone_from(&said.victim_path);
        }
        let uid = |e: &Eviction| e.preemptor.as_ref().map(|p| p.uid.clone());
        let same = self.entries.iter_mut().rev().find(|e| {
            e.victim.uid == entry.victim.uid
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
            // Events of the past arrive in any order.
            self.entries.make_contiguous().sort_by_key(|e| e.at);
        }
        self.revision += 1;
    }

    /// Fills in what is missing of parties that are this Workload.
    fn complete_entries(&mut self, wl: &WorkloadRow, queues: &Store<ClusterQueueRow>) {
        for entry in self.entries.iter_mut().rev() {
            let mut found = false;
            if entry.victim.uid == wl.meta.uid && entry.victim.owner.is_empty() {
                fill_from_workload(&mut entry.victim, wl);
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

fn from_condition(wl: &WorkloadRow, cond: &ConditionRow, said: &PreemptionMessage) -> Eviction {
    let mut victim = InvolvedWorkload {
        priority: said.victim_priority,
        ..InvolvedWorkload::default()
    };
    fill_from_workload(&mut victim, wl);
    Eviction {
        at: cond.at,
        victim,
        reason: cond.reason.clone(),
        message: cond.message.clone(),
        ..Eviction::default()
    }
}

/// Fills in what a Workload tells about itself.
fn fill_from_workload(party: &mut InvolvedWorkload, wl: &WorkloadRow) {
    party.uid.clone_from(&wl.meta.uid);
    party.key = wl.key().clone();
    party.owner = wl.owner_text();
    party.priority = party.priority.or(Some(wl.priority));
    party.requests = wl.requests();
    if party.cluster_queue.is_empty()
        && let Some(admission) = &wl.admission
    {
        party.cluster_queue.clone_from(&admission.cluster_queue);
    }
}

/// Takes over what a second source knows better.
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
    better(&mut known.victim, new.victim);
    match (&mut known.preemptor, new.preemptor) {
        (Some(a), Some(b)) => better(a, b),
        (slot @ None, some) => *slot = some,
        (Some(_), None) => {}
    }
    if known.reason == evicted::PREEMPTED || known.reason.is_empty() {
        known.reason = new.reason;
    }
    // An Event knows the moment to the microsecond, a condition only to the second.
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
    use super::*;

    const MESSAGE: &str = "Preempted to accommodate a workload (UID: 8b84, JobUID: 0ade) due to reclamation within the cohort; preemptor path: /team/cq-c2; preemptee path: /team/cq-c1; preemptor effective priority: 1000 (base: 1000, boost: 0); preemptee effective priority: 100 (base: 100, boost: 0)";

    #[test]
    fn the_message_of_a_preemption_is_understood() {
        let said = PreemptionMessage::parse(MESSAGE);
        assert_eq!(said.preemptor.as_deref(), Some("8b84"));
        assert_eq!(said.reason(), preempted::IN_COHORT_RECLAMATION);
        assert_eq!(said.preemptor_path, "/team/cq-c2");
        assert_eq!(last_segment(&said.victim_path), "cq-c1");
        assert_eq!(
            (said.preemptor_priority, said.victim_priority),
            (Some(1000), Some(100))
        );
        assert_eq!(
            PreemptionMessage::parse("Evicted because of rain"),
            PreemptionMessage::default()
        );
    }

    #[test]
    fn event_and_condition_of_one_eviction_are_one_entry() {
        let mut feed = EvictionLog::default();
        let queues = Store::default();
        let at = |s: &str| s.parse::<Timestamp>().unwrap();
        let entry = |at| Eviction {
            at,
            victim: InvolvedWorkload {
                uid: "victim".to_owned(),
                ..InvolvedWorkload::default()
            },
            reason: preempted::IN_CLUSTER_QUEUE.to_owned(),
            ..Eviction::default()
        };
        let said = PreemptionMessage::parse(MESSAGE);
        feed.record(entry(at("2026-03-02T12:00:05Z")), &said, &queues);
        feed.record(entry(at("2026-03-02T12:00:05.25Z")), &said, &queues);
        assert_eq!(feed.len(), 1);
        assert_eq!(
            feed.latest_of("victim").unwrap().at,
            at("2026-03-02T12:00:05.25Z")
        );
        feed.record(entry(at("2026-03-02T12:01:05Z")), &said, &queues);
        assert_eq!(feed.len(), 2);
    }
}
