//! The names that the steps and expectations of a scenario refer to.

mod event_kinds;
mod known_jobs;
mod known_names;
mod known_pods;
mod known_samples;
mod operator_kinds;
mod unknown_name;

pub(crate) use known_jobs::unknown_job;
pub(crate) use known_names::KnownNames;
pub(crate) use operator_kinds::is_of_job_operator;
