//! How a run is told: line by line for a log, step by step for a screen.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

/// One line of the story.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineEntry {
    /// Lab time since the beginning.
    pub at: SignedDuration,
    /// What sort of line.
    pub kind: TimelineEntryKind,
    /// The line.
    pub text: String,
}

/// What sort of line it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineEntryKind {
    /// A step begins.
    Step,
    /// Something expected was seen.
    ExpectationMet,
    /// Something expected was not seen.
    ExpectationFailed,
    /// A managed job changed its state.
    Job,
    /// An Event of the cluster.
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

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Name of the scenario.
    pub name: String,
    /// Its steps.
    pub steps: Vec<StepProgress>,
    /// How it ended: a sentence each way.
    pub outcome: Option<Result<String, String>>,
}

/// How far a step is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepProgress {
    /// What happens.
    pub text: String,
    /// How far it is.
    pub state: StepState,
    /// When it began, in lab time.
    pub at: Option<Timestamp>,
}

/// The state of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StepState {
    /// Not begun.
    #[default]
    Pending,
    /// Under way.
    Running,
    /// Done, as expected.
    Done,
    /// Not as expected, and what was seen instead.
    Failed(String),
}

/// Who is told how a run goes.
pub trait Observer: Send + Sync {
    /// A line of the story.
    fn entry(&self, entry: &TimelineEntry);

    /// The steps, whenever one changes.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }
}
