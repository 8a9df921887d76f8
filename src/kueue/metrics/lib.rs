//! Prometheus metrics of the controller with upstream's names and labels.
//!
//! Counters and histograms are updated from changes of Workloads and from admission attempts;
//! gauges are collected from informers and the engine on each scrape. The controller does not
//! depend on this crate.

mod cluster_queue_gauges;
mod cohort_gauges;
mod custom_labels;
mod job_metrics;
mod labels;
mod local_queue_gauges;
mod metric_sources;
mod multi_kueue_metrics;
mod registry;
mod scheduler_metrics;
mod series;
mod state_gauges;
#[cfg(test)]
mod tests;
mod unadmitted_workloads;
mod workload_change;
mod workload_metrics;

pub use kueue_lab_http::prometheus_text_format::CONTENT_TYPE;
pub use registry::{Metrics, ReplicaRole};
