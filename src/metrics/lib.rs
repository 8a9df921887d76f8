//! Prometheus metrics of the controller with upstream's names and labels.
//!
//! Counters and histograms are updated from changes of Workloads and from admission attempts;
//! gauges are collected from informers and the engine on each scrape. The controller does not
//! depend on this crate.
//!
//! Not implemented: `metrics.customLabels`, and the metrics of MultiKueue, Workload slices and
//! write latencies.

mod registry;
mod scheduler_metrics;
mod state_gauges;
#[cfg(test)]
mod tests;
mod workload_metrics;

pub use kueue_lab_prometheus::CONTENT_TYPE;
pub use registry::{Metrics, ReplicaRole};
