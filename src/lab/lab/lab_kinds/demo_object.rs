//! The kind `Demo`.

use jiff::Timestamp;
use kube::core::{ApiResource, DynamicObject};
use serde::{Deserialize, Serialize};

use super::definition::api_resource;

/// The spec of a `Demo`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DemoSpec {
    /// Whether the demo runs; a client sets it to start the demo.
    pub running: bool,
    /// Whether lab time is paused before each step.
    pub pauses: bool,
    /// Whether the demo starts beside unfinished workloads that are not of a demo: they stay.
    pub beside_other_workloads: bool,
}

/// The status of a `Demo`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DemoStatus {
    /// The generation that this status answers.
    pub observed_generation: i64,
    /// The position in the list of demos.
    pub position: usize,
    /// Its description, one line.
    pub summary: String,
    /// Its preset, if it has one.
    pub preset: Option<String>,
    /// The reason that the last request to run it was rejected.
    pub error: Option<String>,
    /// The steps of the last run.
    pub steps: Vec<DemoStepStatus>,
    /// The result of the last run, one sentence.
    pub outcome: Option<String>,
    /// Whether that run failed.
    pub failed: bool,
}

/// A step of a demo.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct DemoStepStatus {
    /// Its description.
    pub text: String,
    /// Its state.
    pub state: DemoState,
    /// The reason of its failure.
    pub reason: Option<String>,
    /// The lab time of its end, or else of its start.
    pub at: Option<Timestamp>,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum DemoState {
    /// Not started.
    #[default]
    Pending,
    /// The next one; lab time is paused until it is resumed.
    Waiting,
    /// Running.
    Running,
    /// Completed as expected.
    Done,
    /// Failed.
    Failed,
}

impl DemoSpec {
    /// The resource of the kind.
    pub fn api_resource() -> ApiResource {
        api_resource("Demo", "demos")
    }

    /// The spec of an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self::deserialize(&object.data["spec"]).unwrap_or_default()
    }
}

impl DemoStatus {
    /// The status of an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self::deserialize(&object.data["status"]).unwrap_or_default()
    }
}
