//! Admission of the objects of an installation of Kueue: what this process provides stays, and
//! warnings say so.

use async_trait::async_trait;
use serde_json::Value;

use super::manager_config::load_manager_config;
use super::manager_control_plane::is_manager_replica_set;
use super::{CONFIG_MAP, CONTAINER, DEPLOYMENT, NAMESPACE, POD_LABEL, WEBHOOK_SERVICE};
use crate::ca_bundle::CaBundle;
use crate::kueue_crds;
use kueue_lab_api::config::CONFIG_MAP_KEY;
use kueue_lab_cluster::plugins::{
    AdmissionPlugin, AdmissionRequest, AdmissionWarnings, ApiError, Operation,
};
use kueue_lab_controller::visibility;
use kueue_lab_kubelet::CONTROL_PLANE_NODE;

const CRDS: &str = "customresourcedefinitions";
const API_SERVICES: &str = "apiservices";
const WEBHOOK_CONFIGURATIONS: [&str; 2] = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
];

/// Admission of the objects of an installation of Kueue.
pub(crate) struct ManagerAdmission {
    ca_bundle: CaBundle,
}

impl ManagerAdmission {
    /// Admission with the `caBundle` of the webhooks.
    pub(crate) fn new(ca_bundle: CaBundle) -> Self {
        Self { ca_bundle }
    }
}

#[async_trait]
impl AdmissionPlugin for ManagerAdmission {
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        let handled = match group {
            "" => matches!(resource, "pods" | "configmaps"),
            "apps" => resource == "deployments",
            "apiextensions.k8s.io" => resource == CRDS,
            "apiregistration.k8s.io" => resource == API_SERVICES,
            "admissionregistration.k8s.io" => WEBHOOK_CONFIGURATIONS.contains(&resource),
            _ => false,
        };
        handled && subresource.is_empty()
    }

    fn replaces_service(&self, namespace: &str, service: &str) -> bool {
        (namespace, service) == (NAMESPACE, WEBHOOK_SERVICE)
    }

    async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        let warning = match request.resource {
            _ if request.operation == Operation::Delete => None,
            "pods" => {
                bind_manager_pod(request, object);
                None
            }
            CRDS => {
                let spec = kueue_crds::built_in_spec(request.name, &self.ca_bundle);
                keep_spec(object, spec)
            }
            API_SERVICES if is_visibility_service(request.name) => {
                keep_spec(object, request.old_object.map(|old| old["spec"].clone()))
            }
            _ => None,
        };
        Ok(AdmissionWarnings {
            warnings: warning.into_iter().collect(),
        })
    }

    async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        let here = request.namespace == NAMESPACE;
        let warnings = match (request.resource, request.name) {
            _ if request.operation == Operation::Delete => Vec::new(),
            ("configmaps", CONFIG_MAP) if here => configuration_warnings(object),
            ("deployments", DEPLOYMENT) if here => image_warning(request.old_object, object),
            (resource, name) if WEBHOOK_CONFIGURATIONS.contains(&resource) => {
                webhook_warning(name, object)
            }
            _ => Vec::new(),
        };
        Ok(AdmissionWarnings { warnings })
    }
}

/// Binds a Pod of the Deployment to the control plane.
fn bind_manager_pod(request: &AdmissionRequest<'_>, pod: &mut Value) {
    let (label, value) = POD_LABEL;
    let owners = pod
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut owners = owners.into_iter().flatten();
    let owned = owners.any(|owner| {
        owner["kind"] == "ReplicaSet" && owner["name"].as_str().is_some_and(is_manager_replica_set)
    });
    let bound = pod["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    if request.operation == Operation::Create
        && request.namespace == NAMESPACE
        && owned
        && !bound
        && pod["metadata"]["labels"][label] == value
    {
        pod["spec"]["nodeName"] = CONTROL_PLANE_NODE.into();
    }
}

/// Restores the spec of an object that this process serves.
fn keep_spec(object: &mut Value, spec: Option<Value>) -> Option<String> {
    let spec = spec.filter(|spec| object["spec"] != *spec)?;
    object["spec"] = spec;
    Some(format!(
        "{} {:?} is served by kueue-lab itself: its spec stays unchanged",
        object["kind"].as_str().unwrap_or_default(),
        object["metadata"]["name"].as_str().unwrap_or_default(),
    ))
}

fn is_visibility_service(name: &str) -> bool {
    let named = |version: &&str| {
        let version = name
            .strip_prefix(*version)
            .and_then(|rest| rest.strip_prefix('.'));
        version == Some(visibility::GROUP)
    };
    visibility::VERSIONS.iter().any(named)
}

/// The warnings about a configuration, before a restart fails with it.
fn configuration_warnings(config_map: &Value) -> Vec<String> {
    match load_manager_config(config_map["data"][CONFIG_MAP_KEY].as_str(), &[]) {
        Ok(manager) => manager.warnings,
        Err(problems) => problems
            .into_iter()
            .map(|problem| format!("{problem} (a rollout with it does not complete)"))
            .collect(),
    }
}

/// Says that another image is not run.
fn image_warning(old: Option<&Value>, deployment: &Value) -> Vec<String> {
    let image = |deployment: &Value| {
        let containers = deployment.pointer("/spec/template/spec/containers");
        let mut containers = containers.and_then(Value::as_array).into_iter().flatten();
        let manager = containers.find(|c| c["name"] == CONTAINER);
        manager.and_then(|c| c["image"].as_str()).map(str::to_owned)
    };
    let new = image(deployment);
    if new.is_none() || old.and_then(image) == new {
        return Vec::new();
    }
    let image = new.unwrap_or_default();
    vec![format!(
        "image {image:?} is not run: kueue-lab itself is the controller, with the configuration in ConfigMap {CONFIG_MAP:?}"
    )]
}

/// Says that the webhooks of Kueue's Service are built in.
fn webhook_warning(name: &str, configuration: &Value) -> Vec<String> {
    let hooks = configuration["webhooks"].as_array().into_iter().flatten();
    let mut services = hooks.map(|hook| &hook["clientConfig"]["service"]);
    let replaced = services.any(|s| s["namespace"] == NAMESPACE && s["name"] == WEBHOOK_SERVICE);
    match replaced {
        true => vec![format!(
            "the webhooks of Service {WEBHOOK_SERVICE:?} in {name:?} are built into kueue-lab and not called"
        )],
        false => Vec::new(),
    }
}
