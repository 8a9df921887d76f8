//! Scenario files (`docs/scenario-format.md`).

mod loader;
mod scenario;
#[cfg(test)]
mod tests;

pub use scenario::{Scenario, ScenarioError, Step, StepAction, StepTrigger};
