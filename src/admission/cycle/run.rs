//! [`Run`]: a cycle in progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::action::Action;
use super::entry::Entry;
use super::expectations::Expectations;
use super::order;
use super::preempted::Preempted;
use super::process::Step;
use crate::fair::Tournament;
use crate::snapshot::Snapshot;
use crate::world::World;

/// What came of looking for other victims when somebody else claimed the first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Recomputation {
    /// The workload fits once the others' victims are gone.
    DeferredFit,
    /// It found others.
    NewTargets,
    /// It was passed over.
    Skipped,
}

impl Recomputation {
    /// Whatever can come of it.
    pub const ALL: [Self; 3] = [Self::DeferredFit, Self::NewTargets, Self::Skipped];

    /// The name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Recomputation::DeferredFit => "deferred_fit",
            Recomputation::NewTargets => "new_targets",
            Recomputation::Skipped => "skipped",
        }
    }
}

/// Counts of what happened in a cycle, by ClusterQueue.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Preemptors that were passed over.
    pub skipped_preemptions: BTreeMap<Arc<str>, u64>,
    /// Searches for other victims, by what came of them.
    pub recomputations: BTreeMap<Arc<str>, BTreeMap<Recomputation, u64>>,
}

/// A cycle in progress.
pub struct Run<'a> {
    /// The cache.
    pub snapshot: Snapshot<'a>,
    /// Namespaces and limits.
    pub world: &'a World,
    /// Preemptions under way.
    pub expectations: &'a mut Expectations,
    /// The number of the cycle.
    pub number: i64,
    /// The heads that were nominated.
    pub entries: Vec<Entry>,
    /// The heads that cannot be admitted whatever the quota.
    pub rejected: Vec<Entry>,
    /// What is to be written, in order, with the entry it is for.
    pub actions: Vec<(usize, Action)>,
    /// Counts.
    pub counts: Counts,
    /// Whether decisions tell of every candidate, however many there are.
    pub tells_all: bool,
    pub(super) preempted: Preempted,
    pub(super) unready_assumed: bool,
}

/// Whether a cycle went through or stopped to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All entries were processed.
    Done,
    /// This entry waits until the pods of all admitted workloads are ready.
    Waiting(usize),
}

impl<'a> Run<'a> {
    /// A cycle on this snapshot.
    pub fn new(
        snapshot: Snapshot<'a>,
        world: &'a World,
        expectations: &'a mut Expectations,
        number: i64,
    ) -> Self {
        Run {
            snapshot,
            world,
            expectations,
            number,
            entries: Vec::new(),
            rejected: Vec::new(),
            actions: Vec::new(),
            counts: Counts::default(),
            tells_all: false,
            preempted: Preempted::default(),
            unready_assumed: false,
        }
    }

    /// Puts the nominated entries into the order that does not depend on shares.
    pub fn sort(&mut self) {
        if !self.snapshot.config.fair_sharing_enabled() {
            order::sort(&mut self.entries, &self.snapshot.config.gates);
        }
    }

    /// Processes the entries whose turn did not come yet.
    pub fn process_rest(&mut self) -> Progress {
        if self.snapshot.config.fair_sharing_enabled() {
            let mut tournament = Tournament::new(&self.entries, &mut self.snapshot);
            while let Some(i) = tournament.pop(&self.entries, &mut self.snapshot) {
                if self.process(i) == Step::Wait {
                    return Progress::Waiting(i);
                }
            }
        } else {
            for i in 0..self.entries.len() {
                if !self.entries[i].processed && self.process(i) == Step::Wait {
                    return Progress::Waiting(i);
                }
            }
        }
        Progress::Done
    }
}
