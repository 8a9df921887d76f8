//! The objects of a new cluster.

mod bootstrap_object;
mod extension_apiserver_authentication;
mod rbac_bootstrap_policy;
mod system_objects;
mod system_roles;

pub(super) use bootstrap_object::{
    create_api_services, create_bootstrap_objects, create_system_roles, status_manager,
};
pub(super) use extension_apiserver_authentication::create_extension_apiserver_authentication;
