//! The objects of an installation of Kueue: namespace, service account, Services, configuration and
//! Deployment.

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::{
    CONFIG_MAP, CONTAINER, DEPLOYMENT, IMAGE, NAMESPACE, POD_LABEL, VISIBILITY_SERVICE,
    WEBHOOK_SERVICE,
};
use kueue_lab_api::config::CONFIG_MAP_KEY;
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::is_not_found;

/// The field manager of `kubectl apply --server-side`: a release's manifest is applied over these
/// objects as over an earlier release.
const FIELD_MANAGER: &str = "kubectl";

/// The annotation of the ConfigMap with the configuration of presets without `kueue.yaml`, if another one is
/// applied: a copy of the lab needs it.
pub(crate) const BASE_CONFIGURATION_ANNOTATION: &str = "kueue-lab.dev/base-configuration";

/// A configuration, and that of presets without `kueue.yaml`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstalledConfiguration<'a> {
    /// The configuration.
    pub(crate) text: &'a str,
    /// That of presets without `kueue.yaml`.
    pub(crate) base: &'a str,
}

impl InstalledConfiguration<'_> {
    /// The value of [`BASE_CONFIGURATION_ANNOTATION`]; null without one.
    pub(super) fn base_annotation(self) -> Value {
        match self.base == self.text {
            true => Value::Null,
            false => self.base.into(),
        }
    }
}

/// Applies the objects, with this configuration.
///
/// # Errors
/// The API server rejects one of them.
pub(crate) async fn install(
    client: &Client,
    configuration: InstalledConfiguration<'_>,
) -> Result<(), kube::Error> {
    apply_objects(client, objects(configuration)).await
}

/// Creates the objects that a restored cluster does not have. Others stay as they were changed, except
/// that a given configuration replaces the restored one.
///
/// # Errors
/// The API server rejects one of them.
pub(crate) async fn install_missing(
    client: &Client,
    configuration: InstalledConfiguration<'_>,
    is_given: bool,
) -> Result<(), kube::Error> {
    let mut missing = Vec::new();
    for object in objects(configuration) {
        let is_configuration = object["kind"] == "ConfigMap";
        let (api, name) = api_of(client, &object);
        if (is_given && is_configuration) || api.get_opt(name).await?.is_none() {
            missing.push(object);
        }
    }
    apply_objects(client, missing).await?;
    release_leases(client).await
}

/// Releases the Leases that the manager of the restored cluster held: its process has ended.
async fn release_leases(client: &Client) -> Result<(), kube::Error> {
    let api: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    for lease in api.list(&ListParams::default()).await? {
        let holder = lease
            .spec
            .as_ref()
            .and_then(|s| s.holder_identity.as_deref());
        if holder.is_some_and(is_of_manager) {
            let released = Patch::Merge(json!({"spec": {"holderIdentity": ""}}));
            api.patch(&lease.name_any(), &PatchParams::default(), &released)
                .await?;
        }
    }
    Ok(())
}

/// Whether the holder of a Lease is the manager of this cluster: its Pod, or the Deployment for the Pod to come.
fn is_of_manager(holder: &str) -> bool {
    let pod = holder.rsplit_once('_').map_or(holder, |(pod, _)| pod);
    pod == DEPLOYMENT
        || pod
            .strip_prefix(DEPLOYMENT)
            .is_some_and(|rest| rest.starts_with('-'))
}

/// The API of an object, and its name.
fn api_of<'a>(client: &Client, object: &'a Value) -> (Api<DynamicObject>, &'a str) {
    let text = |path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    (api, text("/metadata/name"))
}

/// Applies objects in order.
///
/// # Errors
/// The API server rejects one of them.
pub(crate) async fn apply_objects(
    client: &Client,
    objects: impl IntoIterator<Item = Value>,
) -> Result<(), kube::Error> {
    for object in objects {
        let (api, name) = api_of(client, &object);
        let params = PatchParams::apply(FIELD_MANAGER).force();
        api.patch(name, &params, &Patch::Apply(&object)).await?;
    }
    Ok(())
}

/// Deletes objects in order; those that do not exist are left out.
///
/// # Errors
/// The API server rejects one of the requests.
pub(crate) async fn delete_objects(
    client: &Client,
    objects: impl IntoIterator<Item = Value>,
) -> Result<(), kube::Error> {
    for object in objects {
        let (api, name) = api_of(client, &object);
        match api.delete(name, &DeleteParams::default()).await {
            Err(error) if !is_not_found(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The labels of upstream's manifests; `component` may be empty.
pub(super) fn labels(component: &str) -> Value {
    let (pod_label, pod_value) = POD_LABEL;
    let mut labels = json!({"app.kubernetes.io/name": "kueue", pod_label: pod_value});
    if !component.is_empty() {
        labels["app.kubernetes.io/component"] = component.into();
    }
    labels
}

fn objects(configuration: InstalledConfiguration<'_>) -> Vec<Value> {
    let (pod_label, pod_value) = POD_LABEL;
    let selector = json!({pod_label: pod_value});
    let object = |api_version: &str, kind: &str, name: &str, component: &str, fields: Value| {
        let mut object = json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels(component)},
        });
        if let (Some(all), Value::Object(fields)) = (object.as_object_mut(), fields) {
            all.extend(fields);
        }
        object
    };
    let service = |name: &str, component: &str, port: Value| {
        let spec = json!({"ports": [port], "selector": selector});
        object("v1", "Service", name, component, json!({"spec": spec}))
    };
    let webhook_port = json!({"port": 443, "protocol": "TCP", "targetPort": 9443});
    let visibility_port =
        json!({"name": "https", "port": 443, "protocol": "TCP", "targetPort": 8082});
    let mut data = json!({});
    data[CONFIG_MAP_KEY] = configuration.text.into();
    let mut config_map = object("v1", "ConfigMap", CONFIG_MAP, "", json!({"data": data}));
    let base = configuration.base_annotation();
    if !base.is_null() {
        config_map["metadata"]["annotations"] = json!({BASE_CONFIGURATION_ANNOTATION: base});
    }
    let container = json!({
        "name": CONTAINER,
        "image": IMAGE,
        "imagePullPolicy": "Always",
        "command": ["/manager"],
        "args": [format!("--config=/{CONFIG_MAP_KEY}"), "--zap-log-level=2"],
        "resources": {
            "limits": {"cpu": "2", "memory": "512Mi"},
            "requests": {"cpu": "500m", "memory": "512Mi"},
        },
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8081}, "periodSeconds": 20},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}, "periodSeconds": 10},
        "ports": [
            {"containerPort": 8443, "name": "metrics", "protocol": "TCP"},
            {"containerPort": 8082, "name": "visibility", "protocol": "TCP"},
            {"containerPort": 9443, "name": "webhook-server", "protocol": "TCP"},
        ],
        "volumeMounts": [{
            "name": "manager-config",
            "mountPath": format!("/{CONFIG_MAP_KEY}"),
            "subPath": CONFIG_MAP_KEY,
        }],
    });
    let deployment = json!({"spec": {
        "replicas": 1,
        "selector": {"matchLabels": selector},
        "template": {
            "metadata": {
                "labels": labels(""),
                "annotations": {"kubectl.kubernetes.io/default-container": CONTAINER},
            },
            "spec": {
                "serviceAccountName": DEPLOYMENT,
                "terminationGracePeriodSeconds": 10,
                "containers": [container],
                "volumes": [{"name": "manager-config", "configMap": {"name": CONFIG_MAP}}],
            },
        },
    }});
    vec![
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": NAMESPACE, "labels": labels("")},
        }),
        object("v1", "ServiceAccount", DEPLOYMENT, "", json!({})),
        service(WEBHOOK_SERVICE, "webhook-service", webhook_port),
        service(VISIBILITY_SERVICE.1, "visibility-service", visibility_port),
        config_map,
        object(
            "apps/v1",
            "Deployment",
            DEPLOYMENT,
            "controller",
            deployment,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_is_recognized_before_and_after_its_pod_runs() {
        for holder in [
            "kueue-controller-manager_8a0c2c0e-5b1d-4f0e-9f43-8f3c7c1d2a10",
            "kueue-controller-manager-5b9c8d7f6-x2x4z_8a0c2c0e-5b1d-4f0e-9f43-8f3c7c1d2a10",
        ] {
            assert!(is_of_manager(holder), "{holder}");
        }
        for holder in [
            "",
            "laptop_8a0c2c0e",
            "kueue-controller-managers_1",
            "kueue-lab_1",
        ] {
            assert!(!is_of_manager(holder), "{holder}");
        }
    }
}
