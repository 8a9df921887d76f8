//! The runtime that SkyPilot installs in the containers of its clusters: its Python programs, Ray and the job
//! queue, as far as SkyPilot's client uses them by `exec`.
//!
//! The programs that SkyPilot generates are interpreted (crate `python`); what they call is in `modules`.
//! The commands of a task are executed by the container's shell.
//!
//! Must not depend on other crates of the lab except `container` and `python`.

mod driver;
mod installation;
mod job_queue;
mod job_table;
mod jobs_controller;
mod managed_job_scheduler;
#[cfg(test)]
mod managed_job_tests;
mod modules;
mod node;
mod placement;
mod programs;
mod python;
mod runtime;
mod task_output;
#[cfg(test)]
mod tests;

pub use installation::{install, program_names};
pub use jobs_controller::{
    JobsController, JobsControllerError, ManagedJob, ManagedJobOutput, ManagedJobSubmission,
    NewManagedJob,
};
pub use node::{Node, Nodes};
pub use programs::programs;
pub use runtime::Runtime;
