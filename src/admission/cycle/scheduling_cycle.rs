//! [`SchedulingCycle`]: a cycle in progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::action::{Action, ActionKind};
use super::entry::Entry;
use super::entry_ordering::sort_entries;
use super::fair_sharing_iterator::FairSharingIterator;
use super::preempted_workloads::PreemptedWorkloads;
use super::preemption_expectations::PreemptionExpectations;
use super::process_entry::ProcessResult;
use crate::cluster_objects::ClusterObjects;
use crate::messages::Event;
use crate::snapshot_transaction::SnapshotTransaction;
use crate::status::StatusChange;
use crate::workload::WorkloadKey;

/// What came of looking for other victims when somebody else claimed the first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum RecomputationResult {
    /// The workload fits once the others' victims are gone.
    DeferredFit,
    /// It found others.
    NewTargets,
    /// It was passed over.
    Skipped,
}

impl RecomputationResult {
    /// Whatever can come of it.
    pub const ALL: [Self; 3] = [Self::DeferredFit, Self::NewTargets, Self::Skipped];

    /// The name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            RecomputationResult::DeferredFit => "deferred_fit",
            RecomputationResult::NewTargets => "new_targets",
            RecomputationResult::Skipped => "skipped",
        }
    }
}

/// Counts of what happened in a cycle, by ClusterQueue.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CycleCounts {
    /// Preemptors that were passed over.
    pub skipped_preemptions: BTreeMap<Arc<str>, u64>,
    /// Searches for other victims, by what came of them.
    pub recomputations: BTreeMap<Arc<str>, BTreeMap<RecomputationResult, u64>>,
}

/// A cycle in progress.
pub struct SchedulingCycle<'a> {
    /// The cache.
    pub snapshot: SnapshotTransaction<'a>,
    /// Namespaces and limits.
    pub cluster_objects: &'a ClusterObjects,
    /// Preemptions under way.
    pub expectations: &'a mut PreemptionExpectations,
    /// The number of the cycle.
    pub number: i64,
    /// The heads that were nominated.
    pub entries: Vec<Entry>,
    /// The heads that cannot be admitted whatever the quota.
    pub rejected: Vec<Entry>,
    /// What is to be written, in order, with the entry it is for.
    pub actions: Vec<(usize, Action)>,
    /// Counts.
    pub counts: CycleCounts,
    /// Whether decisions tell of every candidate, however many there are.
    pub records_all_candidates: bool,
    pub(super) preempted: PreemptedWorkloads,
    pub(super) unready_assumed: bool,
}

/// Whether a cycle went through or stopped to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleProgress {
    /// All entries were processed.
    Done,
    /// This entry waits until the pods of all admitted workloads are ready.
    WaitingForPodsReady(usize),
}

impl<'a> SchedulingCycle<'a> {
    /// A cycle on this snapshot.
    pub fn new(
        snapshot: SnapshotTransaction<'a>,
        cluster_objects: &'a ClusterObjects,
        expectations: &'a mut PreemptionExpectations,
        number: i64,
    ) -> Self {
        SchedulingCycle {
            snapshot,
            cluster_objects,
            expectations,
            number,
            entries: Vec::new(),
            rejected: Vec::new(),
            actions: Vec::new(),
            counts: CycleCounts::default(),
            records_all_candidates: false,
            preempted: PreemptedWorkloads::default(),
            unready_assumed: false,
        }
    }

    /// Puts the nominated entries into the order that does not depend on shares.
    pub fn sort(&mut self) {
        if !self.snapshot.config.fair_sharing_enabled() {
            sort_entries(&mut self.entries, &self.snapshot.config.gates);
        }
    }

    /// Processes the entries whose turn did not come yet.
    pub fn process_entries(&mut self) -> CycleProgress {
        if self.snapshot.config.fair_sharing_enabled() {
            let mut tournament = FairSharingIterator::new(&self.entries, &mut self.snapshot);
            while let Some(i) = tournament.pop(&self.entries, &mut self.snapshot) {
                if self.process_entry(i) == ProcessResult::WaitForPodsReady {
                    return CycleProgress::WaitingForPodsReady(i);
                }
            }
        } else {
            for i in 0..self.entries.len() {
                if !self.entries[i].processed
                    && self.process_entry(i) == ProcessResult::WaitForPodsReady
                {
                    return CycleProgress::WaitingForPodsReady(i);
                }
            }
        }
        CycleProgress::Done
    }

    pub(super) fn push_action(
        &mut self,
        entry: usize,
        kind: ActionKind,
        (workload, uid): (WorkloadKey, String),
        change: Option<StatusChange>,
        events: Vec<Event>,
    ) {
        let action = Action {
            id: self.actions.len(),
            kind,
            workload,
            uid,
            change,
            events,
            then: None,
        };
        self.actions.push((entry, action));
    }
}
