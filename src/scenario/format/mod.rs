//! Scenario files (`docs/scenario-format.md`).

mod description;
mod job_steps;
mod loader;
mod scenario;
#[cfg(test)]
mod tests;

pub(crate) use loader::{MAX_STEPS, load_steps};
pub use scenario::{
    CheckAnswer, NodeTaint, RequestAnswer, Scenario, ScenarioError, Step, StepAction, StepTrigger,
};
