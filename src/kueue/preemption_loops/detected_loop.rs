//! [`DetectedLoop`]: a detected loop, and its text.

use std::fmt;

use jiff::Timestamp;

/// The kind of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// Workloads preempt each other.
    MutualPreemptions,
    /// The first Workload preempts the others, which are admitted again before it.
    Preemptions,
    /// The message of the condition QuotaReserved alternates between this many texts.
    AlternatingMessages(usize),
}

/// A loop of scheduling attempts that does not settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedLoop {
    /// The kind.
    pub kind: LoopKind,
    /// The UIDs of the Workloads.
    pub uids: Vec<String>,
    /// Their names, in the order of the UIDs.
    pub names: Vec<String>,
    /// The number of preemptions or status updates in the window.
    pub count: usize,
    /// The first of them.
    pub since: Timestamp,
    /// The last of them.
    pub last: Timestamp,
}

impl DetectedLoop {
    /// Whether a Workload is in the loop.
    pub fn involves(&self, uid: &str) -> bool {
        self.uids.iter().any(|other| other == uid)
    }

    /// The time from the first to the last, in seconds, at least one.
    fn seconds(&self) -> i64 {
        self.last.duration_since(self.since).as_secs().max(1)
    }

    /// The changes that can end the loop.
    pub fn remedy(&self) -> &'static str {
        match self.kind {
            LoopKind::MutualPreemptions | LoopKind::Preemptions => {
                "It ends if one of them finishes or is deactivated, or if quota, priorities or preemption policies change."
            }
            LoopKind::AlternatingMessages(_) => {
                "It ends if the Workload is admitted or deactivated, or if its ClusterQueue is changed."
            }
        }
    }
}

impl fmt::Display for DetectedLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, seconds) = (self.count, self.seconds());
        match (self.kind, self.names.as_slice()) {
            (LoopKind::MutualPreemptions, names) => write!(
                f,
                "Workloads {} preempt each other repeatedly ({count} preemptions in {seconds}s)",
                names.join(" and ")
            ),
            (LoopKind::Preemptions, [preemptor, targets @ ..]) => write!(
                f,
                "Workload {preemptor} preempts {} repeatedly ({count} preemptions in {seconds}s)",
                targets.join(" and ")
            ),
            (LoopKind::AlternatingMessages(texts), names) => write!(
                f,
                "The message of Workload {} alternates between {texts} texts, each update leads to the next scheduling attempt ({count} updates in {seconds}s)",
                names.join(", ")
            ),
            (LoopKind::Preemptions, []) => Ok(()),
        }
    }
}
