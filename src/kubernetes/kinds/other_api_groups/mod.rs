//! Strategies of the kinds in the smaller API groups: defaulting and validation.

pub mod admission_validation;
mod admissionregistration;
mod certificates;
mod device_selectors;
mod dynamic_resource_allocation;
mod events;
mod horizontal_pod_autoscaler;
mod networking;
mod pod_disruption_budget;
mod rbac;
mod scheduling;
mod storage;
mod strategies;

pub(super) use storage::{PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM};

pub(super) use strategies::strategy_of;
