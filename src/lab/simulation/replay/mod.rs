//! The replay of a trace through a configuration, in virtual time.
//!
//! An event queue holds submissions, completions and the end of evicted pods; the engine decides at each
//! event, and its own deadlines are events as well. See `docs/replay.md` for its limitations.

mod configuration;
mod event_queue;
mod job_run;
mod main_resource;
mod metrics;
mod never_admitted;
mod outcome;
mod queue_mapping;
mod replay_error;
mod replayer;
mod results;
#[cfg(test)]
mod skipped_cycles_tests;
#[cfg(test)]
mod tests;

pub use configuration::ReplayConfiguration;
pub use metrics::WaitPercentiles;
pub use outcome::{MostPreempted, NeverAdmitted, QueueOutcome, ReplayOutcome, UsagePoint};
pub use queue_mapping::QueueMapping;
pub use replay_error::{QueueMappingError, ReplayError};
pub use replayer::{ReplayOptions, replay};
