//! Scripted runs with expectations: demos and tests of queue configurations are the same thing.
//!
//! A scenario is a YAML file (`docs/scenario-format.md`) of steps that act on a lab and say what must
//! then be seen, all on lab time. Knows `skypilot`, `presets`, `yaml` and the lab; never the UI.

mod duration;
mod expect;
mod format;
mod glob;
mod observed_state;
mod raw;
mod run;
mod timeline;

pub use expect::{Expectation, Expected};
pub use format::{Scenario, ScenarioError, Step, StepAction, StepTrigger};
pub use run::{Outcome, ScenarioEnvironment, run_scenario};
pub use timeline::{Observer, Progress, StepProgress, StepState, TimelineEntry, TimelineEntryKind};
