//! The controllers that do not belong to one kind of workload: garbage collection, namespaces and
//! their contents, statuses. Must not depend on nodes, scheduler or kubelet.

pub mod discovery;
pub mod disruption;
pub mod endpoint_slices;
mod endpoints;
pub mod garbage_collector;
pub mod namespaces;
pub mod persistent_volumes;
pub mod pod_gc;
pub mod resource_quota;
pub mod service_accounts;
mod start_controllers;

pub use self::service_accounts::RootCaPublisher;
pub use start_controllers::{ControllerManager, start};
