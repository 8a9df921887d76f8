//! The scenario as it runs: steps, triggers, actions and expectations.

use std::collections::BTreeMap;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;

use crate::expect::{Expectation, ExpectedCondition};
use crate::job_template::JobTemplate;
use crate::pod_selection::PodSelection;
use crate::selector::Selector;
use kueue_lab_lab::FileError;
use kueue_lab_skypilot::Task;
use kueue_lab_yaml::{Position, Problem};

/// The error of an invalid scenario.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// A problem in a file.
    #[error("{file}:{problem}")]
    In {
        /// The file as the user names it.
        file: String,
        /// The position and the message.
        problem: Problem,
    },
    /// The file cannot be read.
    #[error("{0}")]
    File(String),
}

impl ScenarioError {
    /// The file cannot be read.
    pub(super) fn file(error: FileError) -> Self {
        Self::File(error.to_string())
    }
}

/// A loaded scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name of the demo on the command line.
    pub name: String,
    /// Summary in one line.
    pub summary: String,
    /// The active preset at the start.
    pub preset: Option<String>,
    /// Lab seconds per second, unless `--speed` is given.
    pub pace: f64,
    /// Timeout of the scenario, in lab time.
    pub timeout: Duration,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The file as the user names it.
    pub file: String,
}

/// A step: trigger, action and expectations.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Description for the timeline.
    pub description: String,
    /// The start, once the previous step is done.
    pub trigger: StepTrigger,
    /// The action.
    pub action: StepAction,
    /// Pattern of the message with which the API refuses the action; `None` if it succeeds.
    pub refused: Option<String>,
    /// The expectations that must be met before the next step.
    pub expect: Vec<Expectation>,
    /// The position in the file.
    pub at: Position,
}

/// The start of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepTrigger {
    /// Immediately.
    Now,
    /// At this lab time after the start of the scenario.
    At(Duration),
    /// This long after the previous step.
    After(Duration),
    /// When an expectation is met.
    When(Box<Expectation>),
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepAction {
    /// No action: only the expectations.
    ExpectOnly,
    /// `sky jobs launch -n NAME FILE`.
    Launch {
        /// Name of the job in this scenario.
        name: String,
        /// The task.
        task: Box<Task>,
    },
    /// Submits a sample of the active preset.
    Sample {
        /// The name of the sample.
        sample: String,
        /// Name of the object or of the managed job.
        name: String,
    },
    /// `sky jobs cancel`.
    Cancel(String),
    /// Applies objects; those with `generateName` are created.
    Apply(Vec<Value>),
    /// Creates objects that do not exist.
    Create(Vec<Value>),
    /// Applies a merge patch to objects.
    Patch {
        /// The objects to patch.
        object: Selector,
        /// The merge patch.
        merge: Value,
        /// The subresource to patch, such as `status`.
        subresource: Option<String>,
    },
    /// Deletes objects.
    Delete(Selector),
    /// Activates another preset.
    SwitchPreset(String),
    /// Waits for a duration of lab time.
    Wait(Duration),
    /// Creates jobs from a template.
    CreateJobs(JobTemplate),
    /// Ends the pods of jobs.
    EndPods {
        /// The pods.
        pods: PodSelection,
        /// Whether they succeed.
        succeed: bool,
    },
    /// Sets whether running pods are ready.
    SetReady {
        /// The pods.
        pods: PodSelection,
        /// Whether they are ready.
        ready: bool,
    },
    /// Deletes pods that have not ended.
    DeletePods(PodSelection),
    /// Activates or deactivates the Workloads of jobs.
    SetActive {
        /// Patterns of the jobs.
        jobs: Vec<String>,
        /// Whether they are active.
        active: bool,
    },
    /// Sets the WorkloadPriorityClass of jobs.
    SetPriority {
        /// Patterns of the jobs.
        jobs: Vec<String>,
        /// The WorkloadPriorityClass.
        class: String,
    },
    /// Simulates a power failure of a node, or its end.
    NodePower {
        /// The node.
        node: String,
        /// Whether it has power.
        on: bool,
    },
    /// Adds a taint to a node, or removes it.
    Taint {
        /// The taint.
        taint: NodeTaint,
        /// Whether it is added.
        add: bool,
    },
    /// Sets the state of an admission check of jobs.
    UpdateAdmissionCheck(AdmissionCheckUpdate),
    /// Sets whether an AdmissionCheck is active.
    ActivateCheck {
        /// The AdmissionCheck.
        check: String,
        /// Whether it is active.
        active: bool,
    },
    /// Sets conditions of the ProvisioningRequests of jobs.
    UpdateProvisioningRequest(ProvisioningRequestUpdate),
}

/// The state of an admission check of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionCheckUpdate {
    /// The AdmissionCheck.
    pub check: String,
    /// Patterns of the jobs.
    pub jobs: Vec<String>,
    /// The state, such as `Ready`.
    pub state: String,
    /// The message.
    pub message: String,
    /// The update of every pod set by the check.
    pub pod_set_updates: Option<Value>,
    /// The delay of a retry.
    pub requeue_after: Option<Duration>,
}

/// Conditions of the newest ProvisioningRequest of each of some jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvisioningRequestUpdate {
    /// Patterns of the jobs.
    pub jobs: Vec<String>,
    /// The AdmissionCheck; `None` for any.
    pub check: Option<String>,
    /// The conditions by type.
    pub conditions: IndexMap<String, ExpectedCondition>,
    /// `status.provisioningClassDetails`.
    pub details: BTreeMap<String, String>,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTaint {
    /// The node.
    pub node: String,
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// The effect; `None` for any.
    pub effect: Option<String>,
}

impl StepAction {
    /// Whether it consists of requests to the API, which can refuse them.
    pub(crate) fn is_request(&self) -> bool {
        !matches!(
            self,
            Self::ExpectOnly
                | Self::Launch { .. }
                | Self::Cancel(_)
                | Self::SwitchPreset(_)
                | Self::Wait(_)
                | Self::NodePower { .. }
        )
    }

    /// Whether it needs the Workloads or Pods of jobs.
    pub(crate) fn selects_jobs(&self) -> bool {
        self.selects_pods()
            || matches!(
                self,
                Self::UpdateAdmissionCheck(_)
                    | Self::UpdateProvisioningRequest(_)
                    | Self::SetActive { .. }
                    | Self::SetPriority { .. }
            )
    }

    /// Whether it needs the Pods of jobs.
    pub(crate) fn selects_pods(&self) -> bool {
        matches!(
            self,
            Self::EndPods { .. } | Self::SetReady { .. } | Self::DeletePods(_)
        )
    }
}
