//! Scenarios: scripted runs with expectations, used as demos and as tests of queue configurations.
//!
//! A scenario has steps that act on a lab and expectations about the cluster, all in lab time. It is a demo in a
//! YAML file of its own, or a case of a test file (`docs/test-format.md`). Depends on `skypilot`, `presets`, `yaml` and the lab, never on
//! the UI.

mod action_error;
mod actions;
mod admission_check_actions;
mod applied_node;
mod assertion;
mod check_assertion;
mod check_events;
mod check_evictions;
mod check_names;
mod check_order;
mod check_usage;
mod check_victims;
mod clean_up;
mod comparison;
mod coverage;
mod deadline_speed;
mod delete_step;
mod duration;
mod environment;
mod expect;
mod format;
mod glob;
mod job_actions;
mod job_template;
mod json_schema;
mod kind_discovery;
mod located;
mod match_object;
mod mismatch;
mod names;
mod never_violation;
mod node_actions;
mod observed_state;
mod pod_selection;
mod raw;
mod raw_assertions;
mod raw_steps;
mod run;
mod scenario;
mod selector;
mod step_failure;
mod test_run;
mod test_steps;
mod timeline;
mod watched_kinds;
mod workload_history;

pub use assertion::{Assertion, JobState};
pub use check_names::UnknownNameError;
pub use clean_up::ScenarioCleanUp;
pub use comparison::Comparison;
pub use coverage::Parts;
pub use environment::ScenarioEnvironment;
pub use expect::{Expectation, Expected};
pub use format::{TestFile, TestFileError, test_file_schema};
pub use job_template::JobTemplate;
pub use pod_selection::{PodCount, PodSelection};
pub use run::{Outcome, RunError, run_scenario};
pub use scenario::{
    AdmissionCheckUpdate, NodeTaint, ProvisioningRequestUpdate, Scenario, ScenarioError, Step,
    StepAction, StepTrigger,
};
pub use step_failure::StepFailure;
pub use test_run::{
    CaseFailure, CaseResult, CaseStart, Coverage, Explain, LabFuture, TestOptions, case_text,
    coverage, json_report, junit_report, run_tests, summary_text,
};
pub use timeline::{Observer, Progress, StepProgress, StepState, TimelineEntry, TimelineEntryKind};
