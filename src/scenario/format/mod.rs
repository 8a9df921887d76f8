//! Scenario files (`docs/scenario-format.md`).

mod loader;
mod scenario;
#[cfg(test)]
mod tests;

pub(crate) use loader::{MAX_STEPS, load_steps};
pub use scenario::{Scenario, ScenarioError, Step, StepAction, StepTrigger};
