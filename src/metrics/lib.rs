//! Prometheus metrics of the admission controller, with upstream's names and labels.
//!
//! What happens is counted by looking at how Workloads change and at what cycles tell; how things
//! stand is read from the informers and the engine when somebody asks. The controller knows nothing of it.
//!
//! Not there: labels from the metadata of objects (`metrics.customLabels`), and what belongs to
//! MultiKueue, workload slices and latencies of single writes.

mod registry;
mod scheduler_metrics;
mod state_gauges;
#[cfg(test)]
mod tests;
mod workload_metrics;

pub use registry::{CONTENT_TYPE, Metrics, ReplicaRole};
