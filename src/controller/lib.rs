//! The admission controller around the engine: watches the cluster through a `kube::Client`, feeds
//! [`kueue_lab_admission`], writes its decisions back. Knows `admission`, `api` and `runtime`; must not
//! know which kind of cluster it runs on.
//!
//! All parts share one [`ControllerContext`]: what the cluster looks like ([`Informers`]), the engine, the
//! settings and the recorder of Events. `core` keeps the objects of Kueue itself in order,
//! `scheduler` runs the engine's cycles and writes what they decide, `jobs` turns jobs into
//! Workloads and starts and stops them, `admission_checks` judges admission checks, `webhook` defaults and
//! validates what comes in.

pub mod admission_checks;
mod concurrent_admission;
mod controller_context;
pub mod core;
mod event_handlers;
pub mod event_recorder;
pub mod informers;
mod instance;
pub mod job_webhooks;
pub mod jobs;
pub mod scheduler;
pub mod settings;
mod tas;
pub mod workload_patching;

pub use controller_context::{AdmissionAttempt, ControllerContext};
pub use informers::Informers;
pub use instance::{Controller, WebhooksOnlyInstance};
pub use job_webhooks::JobWebhooks;
pub use settings::{ControllerConfig, Settings};
