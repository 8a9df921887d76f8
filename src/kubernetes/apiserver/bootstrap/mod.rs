//! The objects of a new cluster.

mod bootstrap_object;
mod extension_apiserver_authentication;
mod flow_control;
mod kubernetes_service;
mod rbac_bootstrap_policy;
mod system_objects;
mod system_roles;

pub(super) use bootstrap_object::{
    create_api_services, create_bootstrap_objects, create_system_roles, ensure_flow_control,
    keep_flow_control, status_manager,
};
pub(super) use extension_apiserver_authentication::create_extension_apiserver_authentication;
pub(super) use kubernetes_service::KubernetesServiceController;

pub(crate) use flow_control::GROUP as FLOW_CONTROL_GROUP;
pub(crate) use system_objects::KUBERNETES_SERVICE_IP;
