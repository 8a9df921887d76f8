//! Examples of jobs that preempt each other without end, for the queues of a configuration.
//!
//! Jobs of a few sizes are submitted to copies of an engine; an example is what the engine repeats.

mod job_sizes;
mod loop_example;
mod loop_search;
#[cfg(test)]
mod tests;

pub use loop_example::{LoopExample, LoopJob, LoopKind, SelectedFlavor};
pub use loop_search::LoopSearch;
