//! Demos and test files (`docs/test-format.md`).

mod created_jobs;
mod delete_step;
mod demo;
mod description;
mod job_steps;
mod load_scenario;
mod load_steps;
mod object_fields;
mod scenario;
mod schema;
mod test_file;
mod test_file_error;
#[cfg(test)]
mod tests;

pub(crate) use delete_step::delete_step;
pub(crate) use job_steps::{CHECK_STATES, TAINT_EFFECTS};
pub use scenario::{
    AdmissionCheckUpdate, NodeTaint, ProvisioningRequestUpdate, Scenario, ScenarioError, Step,
    StepAction, StepTrigger,
};
pub use schema::test_file_schema;
pub(crate) use schema::{
    ManagedJobState, one_configuration, one_expectation, one_start_and_action, or_null,
};
pub use test_file::TestFile;
pub use test_file_error::TestFileError;
