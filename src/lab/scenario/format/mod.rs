//! Scenario files (`docs/scenario-format.md`).

mod created_jobs;
mod delete_step;
mod description;
mod job_steps;
mod known_jobs;
mod loader;
mod object_fields;
mod scenario;
#[cfg(test)]
mod tests;
mod unknown_name;

pub(crate) use delete_step::delete_step;
pub(crate) use known_jobs::{can_create_others, unknown_job, unknown_object};
pub(crate) use loader::{MAX_STEPS, load_steps};
pub(crate) use object_fields::check_objects;
pub use scenario::{
    AdmissionCheckUpdate, NodeTaint, ProvisioningRequestUpdate, Scenario, ScenarioError, Step,
    StepAction, StepTrigger,
};
pub(crate) use unknown_name::{UnknownName, remedy};
