//! The timeline of a run, as entries for a log and as steps for the UI.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::run::RunError;

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineEntry {
    /// Lab time since the start.
    pub at: SignedDuration,
    /// The kind of entry.
    pub kind: TimelineEntryKind,
    /// The text.
    pub text: String,
}

/// The kind of a timeline entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineEntryKind {
    /// A step started.
    Step,
    /// An expectation is met.
    ExpectationMet,
    /// An expectation failed.
    ExpectationFailed,
    /// A managed job changed its state.
    Job,
    /// An Event of Kueue.
    Event,
}

impl fmt::Display for TimelineEntry {
    /// `  1:05  ✓ job job1 is RUNNING`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at.as_secs().max(0);
        let clock = format!("{}:{:02}", seconds / 60, seconds % 60);
        let mark = match self.kind {
            TimelineEntryKind::Step => "",
            TimelineEntryKind::ExpectationMet => "  ✓ ",
            TimelineEntryKind::ExpectationFailed => "  ✗ ",
            TimelineEntryKind::Job => "  sky    ",
            TimelineEntryKind::Event => "  kueue  ",
        };
        write!(f, "{clock:>6}  {mark}{}", self.text)
    }
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Name of the scenario.
    pub name: String,
    /// Its steps.
    pub steps: Vec<StepProgress>,
    /// A summary if it has passed; `None` while it runs.
    pub outcome: Option<Result<String, RunError>>,
}

/// The progress of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepProgress {
    /// The description.
    pub text: String,
    /// The state.
    pub state: StepState,
    /// The lab time of its end, or else of its start.
    pub at: Option<Timestamp>,
}

/// The state of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StepState {
    /// Not started.
    #[default]
    Pending,
    /// The next one; lab time is paused until the user resumes it.
    Waiting,
    /// Started, not done.
    Running,
    /// Done; all expectations are met.
    Done,
    /// Failed, with the reason.
    Failed(String),
}

/// Receives the timeline and the progress of a run.
pub trait Observer: Send + Sync {
    /// Called for each entry of the timeline.
    fn entry(&self, entry: &TimelineEntry);

    /// Called when the state of a step changes.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }
}
