//! [`SchedulingCycle`]: the state of a scheduling cycle.

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

/// The result of recomputing an assignment whose preemption targets overlap with another entry's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum RecomputationResult {
    /// It fits once the other entry's targets are preempted.
    DeferredFit,
    /// It has other targets.
    NewTargets,
    /// It was skipped.
    Skipped,
}

impl RecomputationResult {
    /// All results.
    pub const ALL: [Self; 3] = [Self::DeferredFit, Self::NewTargets, Self::Skipped];

    /// The label value in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            RecomputationResult::DeferredFit => "deferred_fit",
            RecomputationResult::NewTargets => "new_targets",
            RecomputationResult::Skipped => "skipped",
        }
    }
}

/// Counters of a cycle, by ClusterQueue.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CycleCounts {
    /// Skipped entries that require preemption.
    pub skipped_preemptions: BTreeMap<Arc<str>, u64>,
    /// Recomputed assignments, by result.
    pub recomputations: BTreeMap<Arc<str>, BTreeMap<RecomputationResult, u64>>,
}

/// A scheduling cycle.
pub struct SchedulingCycle<'a> {
    /// The transaction over the cache.
    pub snapshot: SnapshotTransaction<'a>,
    /// Namespaces, LimitRanges and RuntimeClasses.
    pub cluster_objects: &'a ClusterObjects,
    /// Preemptions in progress.
    pub expectations: &'a mut PreemptionExpectations,
    /// The number of the cycle.
    pub number: i64,
    /// The nominated heads.
    pub entries: Vec<Entry>,
    /// The inadmissible heads.
    pub rejected: Vec<Entry>,
    /// The API writes in order, with the index of their entry.
    pub actions: Vec<(usize, Action)>,
    /// Counters for metrics.
    pub counts: CycleCounts,
    /// Whether decisions have all preemption candidates.
    pub records_all_candidates: bool,
    pub(super) preempted: PreemptedWorkloads,
    pub(super) unready_assumed: bool,
}

/// Whether a cycle is complete or suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleProgress {
    /// All entries were processed.
    Done,
    /// The cycle is suspended at this entry, until the pods of all admitted workloads are ready.
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

    /// Sorts the entries; with fair sharing the iterator orders them.
    pub fn sort(&mut self) {
        if !self.snapshot.config.fair_sharing_enabled() {
            sort_entries(&mut self.entries, &self.snapshot.config.gates);
        }
    }

    /// Processes the unprocessed entries.
    pub(crate) fn process_entries(&mut self) -> CycleProgress {
        if self.snapshot.config.fair_sharing_enabled() {
            let mut iterator = FairSharingIterator::new(&self.entries, &mut self.snapshot);
            while let Some(i) = iterator.pop(&self.entries, &mut self.snapshot) {
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
            preemptor: None,
            then: None,
        };
        self.actions.push((entry, action));
    }
}
