//! Scenarios: scripted runs with expectations, used as demos and as tests of queue configurations.
//!
//! A scenario is a YAML file (`docs/scenario-format.md`) with steps that act on a lab and expectations
//! about the cluster, all in lab time. Depends on `skypilot`, `presets`, `yaml` and the lab, never on
//! the UI.

mod actions;
mod clean_up;
mod duration;
mod expect;
mod format;
mod glob;
mod match_object;
mod observed_state;
mod raw;
mod run;
mod selector;
mod timeline;

pub use clean_up::ScenarioTraces;
pub use expect::{Expectation, Expected};
pub use format::{Scenario, ScenarioError, Step, StepAction, StepTrigger};
pub use run::{Outcome, ScenarioEnvironment, run_scenario};
pub use timeline::{Observer, Progress, StepProgress, StepState, TimelineEntry, TimelineEntryKind};
