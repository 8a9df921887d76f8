//! kube-controller-manager: the controllers of workloads ([`workload_controllers`]), garbage collection, namespaces
//! and their contents, statuses. Must not depend on nodes, scheduler or kubelet.

mod claim_of_template;
mod cluster_role_aggregation;
mod device_taint_eviction;
mod discovery;
mod disruption;
mod endpoint_slices;
mod endpoints;
mod garbage_collector;
mod horizontal;
mod metric_errors;
mod namespace_object;
mod namespaces;
mod persistent_volumes;
mod pod_gc;
mod resource_claims;
mod resource_quota;
mod root_ca_publisher;
mod service_accounts;
mod start_controllers;
pub mod workload_controllers;

pub use device_taint_eviction::start as start_device_taint_eviction;
pub use resource_claims::start as start_resource_claims;
pub use root_ca_publisher::RootCaPublisher;
pub use service_accounts::create_service_accounts;
pub use start_controllers::{ControllerManager, ControllerManagerConfig, start};
