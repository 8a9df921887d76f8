//! Managed jobs: SkyPilot's jobs controller. Each job launches its cluster, checks it every 15 seconds,
//! and relaunches it when it is lost. One tokio task per job; the state of all jobs is in one table.

mod backoff;
mod job_controller;
mod job_output;
mod managed_job_controller;
mod managed_job_resource;
mod managed_jobs;
mod provision;
mod queue_table;
mod recovery_strategy;
mod state;

pub use managed_job_controller::serve;
pub use managed_job_resource::{ManagedJobObjectStatus, ManagedJobSpec};
pub use managed_jobs::{JobUser, ManagedJobs, SubmitError, Timing};
pub use queue_table::queue_table;
pub use state::{JobEvent, ManagedJob, ManagedJobScheduleState, ManagedJobStatus};
