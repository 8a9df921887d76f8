//! The Kueue controllers around the admission engine: informers on a `kube::Client` feed
//! [`kueue_lab_engine`], and its decisions are written to the cluster. Depends on `admission`,
//! `api` and `runtime`, and works on any kind of cluster.
//!
//! All controllers share one [`ControllerContext`] with the [`Informers`], the engine, the settings
//! and the Event recorder. `core` reconciles Kueue's own kinds, `scheduler` runs scheduling cycles
//! and applies their decisions, `jobs` constructs Workloads and starts and stops jobs,
//! `admission_checks` has the built-in admission checks, `tas` the topology ungater and node
//! failures, `failure_recovery` the deletion of pods on unreachable nodes, `jobs/webhooks` the
//! defaulting and validation of jobs.

mod admission_checks;
mod client_write;
mod concurrent_admission;
mod constants;
mod controller_context;
mod core;
mod enqueue_request;
mod event_handlers;
mod event_recorder;
mod expectations;
mod exponential_backoff;
mod failure_recovery;
mod host_configuration;
mod informers;
mod instance;
mod job_annotations;
pub mod jobs;
mod metric_events;
mod object_meta;
mod pod_util;
mod scheduler;
mod settings;
mod tas;
mod update;
mod upstream_latency;
pub mod visibility;
mod worker_clients;
mod workload_patching;

pub use admission_checks::{KubeconfigError, validate_kubeconfig};
pub use client_write::ClientWrite;
pub use controller_context::ControllerContext;
pub use host_configuration::HostConfiguration;
pub use informers::Informers;
pub use instance::{Controller, WebhooksOnlyInstance};
pub use jobs::webhooks::JobWebhooks;
pub use metric_events::{AdmissionAttempt, MetricEvent};
pub use scheduler::{CycleGate, GateState, Stop};
pub use settings::{ControllerConfig, Settings};
pub use upstream_latency::UpstreamLatency;
pub use worker_clients::{NetworkClients, NetworkClientsWithin, WorkerClientError, WorkerClients};
