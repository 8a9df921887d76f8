//! Scenario files (`docs/scenario-format.md`).

mod created_jobs;
mod delete_step;
mod description;
mod job_steps;
mod loader;
mod object_fields;
mod scenario;
#[cfg(test)]
mod tests;

pub(crate) use delete_step::delete_step;
pub(crate) use loader::{MAX_STEPS, load_steps};
pub(crate) use object_fields::check_objects;
pub use scenario::{
    CheckAnswer, NodeTaint, RequestAnswer, Scenario, ScenarioError, Step, StepAction, StepTrigger,
};
