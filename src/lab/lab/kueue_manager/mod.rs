//! Kueue's controller manager on the embedded cluster: the objects of its installation, and the
//! controller of this process behind the Pod of its Deployment.
//!
//! A container that starts in that Pod starts a new instance of the controller with the
//! configuration in the ConfigMap, as a restart of upstream's manager does.

mod cert_rotation;
mod configuration_rollout;
mod controller_instances;
mod current_controller;
mod leader_election;
mod manager_access;
mod manager_admission;
mod manager_config;
mod manager_control_plane;
mod manager_objects;
mod metrics_server;
mod webhook_configurations;

pub(crate) use cert_rotation::CertRotation;
pub(crate) use configuration_rollout::ConfigurationRollout;
pub(crate) use controller_instances::ControllerInstances;
pub(crate) use current_controller::{CurrentController, CurrentGates};
pub(crate) use manager_access::create_access;
pub(crate) use manager_admission::ManagerAdmission;
pub(crate) use manager_control_plane::{ManagerControlPlane, is_manager_pod_key};
pub(crate) use manager_objects::{
    BASE_CONFIGURATION_ANNOTATION, InstalledConfiguration, apply_objects, delete_objects, install,
    install_missing,
};

/// The namespace of Kueue.
const NAMESPACE: &str = kueue_lab_api::config::DEFAULT_NAMESPACE;
/// The Deployment of the controller manager.
const DEPLOYMENT: &str = "kueue-controller-manager";
/// The image of the controller in its Pods: that of the tracked version of Kueue.
const IMAGE: &str = "registry.k8s.io/kueue/kueue:v0.20.0";
/// The container of the controller in its Pods.
const CONTAINER: &str = "manager";
/// The ConfigMap of the configuration.
const CONFIG_MAP: &str = "kueue-manager-config";
/// The Service of the webhooks.
const WEBHOOK_SERVICE: &str = "kueue-webhook-service";
/// The Secret of the certificate of the webhooks.
const SECRET: &str = "kueue-webhook-server-cert";
/// The Service of the metrics.
const METRICS_SERVICE: &str = "kueue-controller-manager-metrics-service";
/// The Service of the visibility server.
pub(crate) const VISIBILITY_SERVICE: (&str, &str) = (NAMESPACE, "kueue-visibility-server");
/// The Service of the explanations.
pub(crate) const EXPLANATION_SERVICE: (&str, &str) = (NAMESPACE, "kueue-lab-explanations");
/// The label of the controller's Pods.
const POD_LABEL: (&str, &str) = ("control-plane", "controller-manager");
