//! Demos: their progress, and the backend that runs them.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use super::OperationError;

/// A lab that can run demos. The returned texts are one sentence about the result.
#[async_trait]
pub trait DemoBackend: Send + Sync + 'static {
    /// The available demos, the default one first.
    fn list(&self) -> Vec<Demo>;

    /// The progress of the running demo.
    fn changes(&self) -> watch::Receiver<Arc<ScenarioProgress>>;

    /// Starts a demo and returns once it has started, or without a start the workloads in its way.
    ///
    /// # Errors
    /// The demo does not exist, or another one is running.
    async fn start(&self, demo: &DemoStart) -> Result<DemoStarted, OperationError>;
}

/// A start of a demo.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoStart {
    /// The name of the demo.
    pub name: String,
    /// How its steps follow each other.
    pub pace: DemoPace,
    /// What happens with unfinished workloads that are not of a demo.
    pub other_workloads: OtherWorkloads,
}

/// How the steps of a demo follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum DemoPace {
    /// Lab time is paused before each step.
    #[default]
    Pauses,
    /// At once, at the pace of the demo.
    OfDemo,
    /// At once, at this many lab seconds per second.
    Speed(f64),
}

/// What a start of a demo does with unfinished workloads that are not of a demo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherWorkloads {
    /// The demo does not start if there are any.
    #[default]
    Refuse,
    /// They stay.
    Keep,
    /// They are deleted with their jobs.
    Delete,
}

/// The result of a start of a demo.
#[derive(Clone, Debug, PartialEq)]
pub enum DemoStarted {
    /// The demo runs; one sentence about it.
    Running(String),
    /// The demo does not start, since there are other workloads, which can use its quota.
    OtherWorkloads(Vec<String>),
}

/// A demo that can be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demo {
    /// Its name on the command line.
    pub name: String,
    /// Its description, one line.
    pub summary: String,
    /// The preset that it switches to, if it has one.
    pub preset: Option<String>,
}

/// The progress of a demo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioProgress {
    /// Name of the demo; empty before the first run.
    pub name: String,
    /// Its steps.
    pub steps: Vec<StepProgress>,
    /// The outcome; `None` while it runs.
    pub outcome: Option<ScenarioOutcome>,
}

/// The outcome of a demo, one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioOutcome {
    /// What it has shown.
    Passed(String),
    /// Why it has failed.
    Failed(String),
}

/// One step of a demo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepProgress {
    /// Its description.
    pub text: String,
    /// Its state.
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
    /// The next one; lab time is paused until it is resumed.
    Waiting,
    /// Running.
    Running,
    /// Completed as expected.
    Done,
    /// Failed, with the observed state.
    Failed(String),
}
