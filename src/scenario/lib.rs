//! Scripted runs with expectations: demos and tests of queue configurations are the same thing.
//!
//! A scenario is a YAML file (`docs/scenario-format.md`) of steps that act on a lab and say what must
//! then be seen, all on lab time. Knows `skypilot`, `presets`, `yaml` and the lab; never the UI.

mod duration;
mod expect;
mod format;
mod glob;
mod raw;
mod run;
mod seen;
mod timeline;

pub use expect::{Expectation, Fact};
pub use format::{Action, Scenario, ScenarioError, Step, Timing};
pub use run::{Outcome, Stage, run};
pub use timeline::{Entry, EntryKind, Observer, Progress, StepProgress, StepState};
