//! Pods: defaulting, create and update validation.

pub(crate) mod container;
pub(crate) mod defaults;
mod env;
mod probe;
mod resize;
pub(crate) mod resource_validation;
pub(crate) mod scheduling;
mod security_context;
pub(crate) mod spec;
mod status;
mod strategy;
mod update;
mod volume;
mod volume_mount;

pub use kueue_lab_resource_quota::{pod_requests, qos};
pub(crate) use strategy::{STRATEGY, validate_template};
