//! What the UI may ask of the lab around it. Everything else it learns by watching the cluster.
//!
//! A UI on a foreign cluster has no lab: what is absent then is shown as absent, with the reason.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use super::model::NamespacedName;

/// Things a person can have done. Each returns a sentence on what was done.
#[async_trait]
pub trait Operations: Send + Sync + 'static {
    /// Presets and their states, kept up to date; `None` where there is no presets folder.
    fn preset_changes(&self) -> Option<watch::Receiver<Arc<PresetList>>> {
        None
    }

    /// The demos that can be run, the one for the demo key first.
    fn demos(&self) -> Vec<Demo> {
        Vec::new()
    }

    /// How the running demo goes, kept up to date.
    fn scenario_changes(&self) -> Option<watch::Receiver<Arc<ScenarioProgress>>> {
        None
    }

    /// Makes another preset the active one.
    ///
    /// # Errors
    /// When there are no presets, the name is not known, or the preset is broken.
    async fn switch_preset(&self, name: &str) -> Result<String, OperationError> {
        Err(OperationError::unavailable(
            format!("preset {name}"),
            NO_LAB_ATTACHED,
        ))
    }

    /// Starts a demo; returns when it has started.
    ///
    /// # Errors
    /// When there are no demos, the name is not known, or one is running.
    async fn run_demo(&self, name: &str) -> Result<String, OperationError> {
        Err(OperationError::unavailable(
            format!("demo {name}"),
            NO_LAB_ATTACHED,
        ))
    }

    /// Submits sample workloads.
    ///
    /// # Errors
    /// When the cluster refuses them.
    async fn submit_job(&self, sample: &SampleJob) -> Result<String, OperationError>;

    /// Submits one of the samples of a preset, by its name.
    ///
    /// # Errors
    /// When there is no such sample, or the cluster refuses it.
    async fn submit_preset_sample(
        &self,
        preset: &str,
        sample: &str,
    ) -> Result<String, OperationError> {
        Err(OperationError::unavailable(
            format!("sample {sample} of preset {preset}"),
            NO_LAB_ATTACHED,
        ))
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// When the cluster refuses.
    async fn delete(&self, target: &ObjectRef) -> Result<String, OperationError>;

    /// Changes how fast lab time passes.
    ///
    /// # Errors
    /// When that cannot be changed.
    async fn set_speed(&self, speed: f64) -> Result<String, OperationError> {
        Err(OperationError::unavailable(
            format!("speed {speed}"),
            "the speed is set when the lab starts: up --speed N",
        ))
    }
}

/// Why lab actions are absent on a foreign cluster.
const NO_LAB_ATTACHED: &str = "this window has no lab behind it; start one with `kueue-lab up`";

/// Why an action did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// There is nothing here that could do it. Trying again does not help.
    #[error("no {what} here: {why}")]
    Unavailable {
        /// What was asked for.
        what: String,
        /// Why there is none, and what to do.
        why: String,
    },
    /// It was tried and failed; the sentence says what to do.
    #[error("{0}")]
    Failed(String),
}

impl OperationError {
    /// An action that nothing here can do.
    pub fn unavailable(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Unavailable {
            what: what.into(),
            why: why.into(),
        }
    }
}

/// Answers why a workload is not admitted, with the decision's whole reason.
#[async_trait]
pub trait Explainer: Send + Sync + 'static {
    /// The explanation of a Workload, as text of several lines.
    ///
    /// # Errors
    /// A sentence on why there is no explanation.
    async fn explain(&self, workload: &NamespacedName) -> Result<String, String>;
}

/// The presets folder as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetList {
    /// Where the folder is.
    pub folder: String,
    /// Its presets in order of their names.
    pub presets: Vec<Preset>,
}

impl PresetList {
    /// Where a fault is, with files named from the folder on: `NAME/FILE:LINE:COLUMN`.
    pub fn location(&self, fault: &Diagnostic) -> String {
        let place = fault.location();
        let within = place.strip_prefix(self.folder.trim_end_matches('/'));
        match within.and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) if !self.folder.is_empty() => rest.to_owned(),
            _ => place,
        }
    }
}

/// One preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    /// Name of its folder.
    pub name: String,
    /// Its leading comment: what it teaches and what to try.
    pub description: String,
    /// Its state.
    pub state: PresetState,
    /// Its files, relative to its folder, where known.
    pub files: Vec<String>,
    /// How many objects of it are in force.
    pub objects: usize,
    /// What the last change came to, such as `2 applied, 1 removed`.
    pub summary: String,
    /// Things to submit to its queues: name and what each is.
    pub samples: Vec<(String, String)>,
    /// What its author should know though it was applied.
    pub warnings: Vec<String>,
    /// How many times it was applied.
    pub revision: u64,
    /// When it was applied last, in lab time.
    pub applied_at: Option<Timestamp>,
}

/// The state of a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PresetState {
    /// Not the active one.
    #[default]
    Idle,
    /// Is being applied.
    Applying,
    /// Applied as the files have it.
    Active,
    /// The files are broken or were refused.
    Invalid {
        /// What is wrong, in the order of the files.
        diagnostics: Vec<Diagnostic>,
        /// Whether an earlier state of this preset is still in force.
        last_good_applied: bool,
    },
}

/// Something wrong with a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub file: String,
    /// The line, from one.
    pub line: Option<u64>,
    /// The column, from one.
    pub column: Option<u64>,
    /// The object, as `Kind namespace/name`.
    pub object: Option<String>,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub remedy: Option<String>,
}

impl Diagnostic {
    /// `file:line:column`, as far as known.
    pub fn location(&self) -> String {
        let mut place = self.file.clone();
        for number in [self.line, self.column].into_iter().map_while(|n| n) {
            place.push_str(&format!(":{number}"));
        }
        place
    }
}

/// A demo that can be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demo {
    /// Its name on the command line.
    pub name: String,
    /// What it shows, in one line.
    pub summary: String,
}

/// How a demo goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioProgress {
    /// Name of the demo; empty while none was run.
    pub name: String,
    /// Its steps.
    pub steps: Vec<StepProgress>,
    /// How it ended: a sentence each way.
    pub outcome: Option<Result<String, String>>,
}

/// One step of a demo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepProgress {
    /// What happens.
    pub text: String,
    /// How far it is.
    pub state: StepState,
    /// When it began, in lab time.
    pub at: Option<Timestamp>,
}

/// How far a step is.
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

/// Sample workloads to submit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleJob {
    /// The LocalQueue.
    pub queue: NamespacedName,
    /// Pods in each.
    pub pods: u32,
    /// Requests of each pod, as quantities by resource name.
    pub requests: Vec<(String, String)>,
    /// The WorkloadPriorityClass, if any.
    pub priority_class: Option<String>,
    /// For how many seconds each pod runs.
    pub seconds: u32,
    /// How many such workloads.
    pub copies: u32,
}

/// An object that something is to be done with.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Group and version, such as `batch/v1`.
    pub api_version: String,
    /// Kind, such as `Job`.
    pub kind: String,
    /// Namespace and name.
    pub key: NamespacedName,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}
