//! Issues the preemptions and other evictions that a cycle decides.

use std::sync::Arc;

use super::action::{ActionKind, Preemptor};
use super::entry::EntryStatus;
use super::recorded_candidates::RecordedCandidates;
use super::scheduling_cycle::SchedulingCycle;
use crate::cache::HierarchyNodeId;
use crate::messages::{self, Event, EventType};
use crate::preemption::Target;
use crate::status::{Eviction, StatusChange};
use crate::workload::{Info, predicates};
use kueue_lab_api::constants as c;

impl SchedulingCycle<'_> {
    /// Evicts the preemption targets that are not evicted yet.
    pub(super) fn issue_preemptions(
        &mut self,
        i: usize,
        node: HierarchyNodeId,
        targets: &[Target],
    ) {
        self.entries[i].issues_preemptions = true;
        let preemptor_path = self.snapshot.cache.cluster_queue_path(node);
        let mut candidates = None;
        for target in targets {
            let Some(victim) = self.snapshot.workload(target.idx) else {
                continue;
            };
            let (info, queue) = (victim.info.clone(), victim.queue);
            let (key, uid) = (&info.key, info.uid());
            if predicates::is_evicted(&info.obj) {
                self.expectations.observed(key, uid);
                self.entries[i].preemptions_in_progress += 1;
                continue;
            }
            if !self.expectations.satisfied(key) {
                self.entries[i].preemptions_in_progress += 1;
                continue;
            }
            self.expectations.expect(key, uid);
            let path = self.snapshot.cache.cluster_queue_path(queue);
            let victim_queue = self.snapshot.cache.hierarchy[queue].name.clone();
            let preemption = messages::PreemptionMessages {
                preemptor: &self.entries[i].info.obj,
                preemptor_path: &preemptor_path,
                victim: &info.obj,
                victim_queue: &victim_queue,
                victim_path: &path,
                reason: target.reason,
            };
            let reason = target.reason.map_or("", |r| r.as_str()).to_owned();
            let gates = &self.snapshot.config.gates;
            let preemption_events = vec![
                preemption.victim_event(gates),
                preemption.preemptor_event(gates),
            ];
            let message = preemption.message();
            self.evict(
                i,
                ActionKind::Preempt,
                &info,
                c::evicted::PREEMPTED,
                message,
                Some(reason),
                preemption_events,
            );
            let entry = &self.entries[i];
            let recorded = candidates.get_or_insert_with(|| {
                let all = &entry.evaluated_candidates;
                Arc::new(RecordedCandidates::new(all, &self.snapshot))
            });
            let preemptor = Preemptor {
                workload: entry.info.key.clone(),
                uid: entry.info.uid().to_owned(),
                cluster_queue: entry.info.cluster_queue.clone(),
                candidates: recorded.clone(),
            };
            if let Some((_, action)) = self.actions.last_mut() {
                action.preemptor = Some(preemptor);
            }
        }
    }

    pub(super) fn handle_failed_tas_replacement(&mut self, i: usize) {
        let info = self.entries[i].info.clone();
        let nodes: Vec<&str> = info
            .obj
            .status
            .unhealthy_nodes
            .iter()
            .map(|n| n.name.as_str())
            .collect();
        let message = format!(
            "Workload was evicted as there was no replacement for unhealthy node(s): {}",
            nodes.join(",")
        );
        let reason = c::evicted::NODE_FAILURES;
        self.evict(
            i,
            ActionKind::EvictUnplaceable,
            &info,
            reason,
            message,
            None,
            Vec::new(),
        );
        self.entries[i].status = EntryStatus::Evicted;
    }

    /// Evicts a workload on behalf of an entry.
    #[expect(
        clippy::too_many_arguments,
        reason = "each argument is a field of the eviction"
    )]
    pub(super) fn evict(
        &mut self,
        entry: usize,
        kind: ActionKind,
        victim: &Info,
        reason: &str,
        message: String,
        preempted: Option<String>,
        preemption_events: Vec<Event>,
    ) {
        let eviction = Eviction::new(reason, message.clone());
        let mut events = Vec::new();
        // Without an admission nothing is evicted, and no Event is recorded.
        if victim.obj.status.admission.is_some() {
            let reason = eviction.event_reason();
            let key = victim.key.clone();
            events.push(Event::new(
                key,
                victim.uid(),
                EventType::Normal,
                reason,
                message,
            ));
        }
        events.extend(preemption_events);
        let change = StatusChange::Evict {
            eviction,
            preempted,
        };
        self.push_action(entry, kind, victim.identity(), Some(change), events);
    }
}
