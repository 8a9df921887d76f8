//! The objects of a new cluster.

mod bootstrap_object;
mod rbac_bootstrap_policy;
mod system_objects;

pub(super) use bootstrap_object::{create_api_services, create_bootstrap_objects, status_manager};
