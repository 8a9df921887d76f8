//! Pods: defaulting, create and update validation.

pub mod container;
pub mod defaults;
mod env;
mod probe;
mod resize;
pub mod resource_validation;
pub mod scheduling;
mod security_context;
pub mod spec;
mod status;
mod strategy;
mod update;
mod volume;
mod volume_mount;

pub use kueue_lab_quota::{pod_requests, qos};
pub use strategy::{STRATEGY, annotations, validate_template};
