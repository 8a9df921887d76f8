//! [`DecidedCycle`]: a cycle with its decisions, before the outcomes of its actions are known.

use std::collections::BTreeMap;

use super::action::{Action, ActionKind, ActionOutcome};
use super::decision::Decision;
use super::entry::{Entry, EntryStatus};
use super::preempted_workloads::PreemptedWorkloads;
use super::scheduling_cycle::{CycleCounts, CycleProgress, SchedulingCycle};
use crate::workload::{Usage, WorkloadKey};
use kueue_lab_reason::InadmissibleCause;

/// A cycle with its decisions. Its actions are executed in order; their outcomes are passed to
/// [`crate::Engine::finish_cycle`].
#[derive(Debug)]
pub struct DecidedCycle {
    /// The number of the cycle.
    pub number: i64,
    /// The API writes to execute.
    pub actions: Vec<Action>,
    /// Whether the cycle is suspended until the pods of all admitted workloads are ready.
    pub waits_for_pods_ready: bool,
    pub(crate) waiting_entry: Option<usize>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) rejected: Vec<Entry>,
    /// Skipped preemptions and recomputed assignments.
    pub counts: CycleCounts,
    /// The index of the entry of each action.
    pub(crate) owners: Vec<usize>,
    victims: Vec<WorkloadKey>,
}

impl SchedulingCycle<'_> {
    /// Ends the transaction of the cycle.
    pub(crate) fn into_decided(mut self, progress: CycleProgress) -> DecidedCycle {
        let waits = match progress {
            CycleProgress::Done => None,
            CycleProgress::WaitingForPodsReady(i) => Some(i),
        };
        let snapshot = &self.snapshot;
        for (i, entry) in self.entries.iter_mut().enumerate() {
            if waits.is_none() || (entry.processed && waits != Some(i)) {
                entry.record_decision(self.number, self.records_all_candidates, snapshot);
            } else {
                let keys = entry.targets.iter();
                let keys = keys.filter_map(|t| Some(snapshot.workload(t.idx)?.info.key.clone()));
                entry.target_keys = keys.collect();
            }
        }
        for entry in &mut self.rejected {
            entry.record_decision(self.number, self.records_all_candidates, snapshot);
        }
        let victims = self.preempted.iter();
        let victims = victims.filter_map(|idx| Some(snapshot.workload(idx)?.info.key.clone()));
        let victims = victims.collect();
        let (owners, actions) = self.actions.into_iter().unzip();
        DecidedCycle {
            number: self.number,
            actions,
            waits_for_pods_ready: waits.is_some(),
            waiting_entry: waits,
            entries: self.entries,
            rejected: self.rejected,
            counts: self.counts,
            owners,
            victims,
        }
    }

    /// Resumes a suspended cycle on the current cache. Earlier decisions are kept; the waiting
    /// entry is admitted.
    pub fn resume(&mut self, decided: DecidedCycle) -> CycleProgress {
        self.number = decided.number;
        self.entries = decided.entries;
        self.rejected = decided.rejected;
        self.counts = decided.counts;
        self.actions = decided.owners.into_iter().zip(decided.actions).collect();
        let find = |cycle: &SchedulingCycle<'_>, key: &WorkloadKey| {
            let idx = cycle.snapshot.cache.index_of(key)?;
            cycle.snapshot.workload(idx).map(|_| idx)
        };
        let victims: Vec<_> = decided
            .victims
            .iter()
            .filter_map(|key| find(self, key))
            .map(|idx| crate::preemption::Target { idx, reason: None })
            .collect();
        self.preempted = PreemptedWorkloads::default();
        self.preempted.insert(&victims, &self.snapshot);
        for i in 0..self.entries.len() {
            let node = self
                .snapshot
                .active_node(&self.entries[i].info.cluster_queue);
            self.entries[i].node = node;
            let keys = std::mem::take(&mut self.entries[i].target_keys);
            if !self.entries[i].processed || decided.waiting_entry == Some(i) {
                let known: Vec<_> = keys.iter().map(|key| find(self, key)).collect();
                let targets = std::mem::take(&mut self.entries[i].targets).into_iter();
                let targets = targets.zip(known).filter_map(|(target, idx)| {
                    Some(crate::preemption::Target {
                        idx: idx?,
                        ..target
                    })
                });
                self.entries[i].targets = targets.collect();
            }
            let entry = &self.entries[i];
            if let Some(node) = node
                && entry.processed
                && entry.status != EntryStatus::Assumed
            {
                let reserved_usage: Usage = entry.reserved_usage.clone();
                self.snapshot.add_usage(node, &reserved_usage);
            }
        }
        if let Some(i) = decided.waiting_entry {
            match self.entries[i].node {
                Some(node) => self.admit_or_migrate(i, node),
                None => {
                    let name = self.entries[i].info.cluster_queue.to_string();
                    let cause = InadmissibleCause::ClusterQueueNotInCache { name };
                    self.entries[i].inadmissible = cause.into();
                }
            }
        }
        self.process_entries()
    }
}

impl Entry {
    fn record_decision(
        &mut self,
        cycle: i64,
        all_candidates: bool,
        snapshot: &crate::snapshot_transaction::SnapshotTransaction<'_>,
    ) {
        if self.decision.is_none() {
            self.decision = Some(Decision::of(self, cycle, all_candidates, snapshot));
        }
    }
}

impl DecidedCycle {
    /// Records the outcomes of actions; those not listed succeeded. Returns the targets whose
    /// eviction failed.
    pub(crate) fn record_outcomes(
        &mut self,
        outcomes: &BTreeMap<usize, ActionOutcome>,
    ) -> Vec<(WorkloadKey, String)> {
        let mut not_evicted = Vec::new();
        let mut sums: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (action, &owner) in self.actions.iter().zip(&self.owners) {
            let outcome = outcomes
                .get(&action.id)
                .copied()
                .unwrap_or(ActionOutcome::Done);
            match action.kind {
                ActionKind::Preempt => {
                    let (preempted, failed) = sums.entry(owner).or_default();
                    if outcome == ActionOutcome::Done {
                        *preempted += 1;
                    } else {
                        *failed += 1;
                        not_evicted.push((action.workload.clone(), action.uid.clone()));
                    }
                }
                ActionKind::EvictUnplaceable if outcome == ActionOutcome::Failed => {
                    self.entries[owner].status = EntryStatus::NotNominated;
                }
                _ => {}
            }
        }
        for (i, entry) in self.entries.iter_mut().enumerate() {
            let (preempted, failed) = sums.get(&i).copied().unwrap_or_default();
            if entry.issues_preemptions {
                entry.mark_preemption_outcome(preempted + entry.preemptions_in_progress, failed);
            }
        }
        not_evicted
    }
}
