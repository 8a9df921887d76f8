//! InferenceService in the deployment mode Standard: a Deployment and a service for each component.

use std::sync::Arc;

use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::child_objects::{
    copy_entries, copy_fields, fields, has_containers, items, metadata_of, set_labels,
};
use super::conditions::{find, is_true};
use super::observed::Observed;
use super::reconcile_plan::{ChildReference, ReconcilePlan};

/// Label: the InferenceService of a Deployment or pod.
pub(super) const NAME_LABEL: &str = "serving.kserve.io/inferenceservice";
/// Annotation: the deployment mode.
const DEPLOYMENT_MODE: &str = "serving.kserve.io/deploymentMode";
/// Annotation: the service is stopped.
const STOP: &str = "serving.kserve.io/stop";
/// The components, and the types of their conditions.
const COMPONENTS: [(&str, &str); 3] = [
    ("predictor", "PredictorReady"),
    ("transformer", "TransformerReady"),
    ("explainer", "ExplainerReady"),
];
/// The container of a component.
const CONTAINER: &str = "kserve-container";
/// The port of the container.
const PORT: u16 = 8080;
/// The fields of a predictor that name a framework instead of `model`.
const FRAMEWORKS: [&str; 11] = [
    "sklearn",
    "xgboost",
    "tensorflow",
    "pytorch",
    "triton",
    "onnx",
    "huggingface",
    "pmml",
    "lightgbm",
    "paddle",
    "art",
];
/// The fields of a component that are not fields of its pod.
const EXTENSIONS: [&str; 19] = [
    "minReplicas",
    "maxReplicas",
    "scaleTarget",
    "scaleMetric",
    "scaleMetricType",
    "autoScaling",
    "containerConcurrency",
    "timeout",
    "canaryTrafficPercent",
    "logger",
    "batcher",
    "labels",
    "annotations",
    "deploymentStrategy",
    "model",
    "workerSpec",
    "storageUris",
    "name",
    "confidential",
];

/// Reconciles an InferenceService.
pub(super) fn reconcile(service: &Observed<'_>) -> ReconcilePlan {
    let spec = service.spec();
    let predictor = &spec["predictor"];
    if predictor["workerSpec"].is_object() {
        return ReconcilePlan::not_simulated(
            "predictor.workerSpec: models on several nodes are not served",
        );
    }
    let annotations = service
        .object
        .metadata
        .annotations
        .clone()
        .unwrap_or_default();
    let mut plan = ReconcilePlan::default();
    let mode = annotations
        .get(DEPLOYMENT_MODE)
        .map_or("Standard", String::as_str);
    if !matches!(mode, "Standard" | "RawDeployment") {
        let message = format!("deployment mode {mode}: the service runs in the mode Standard");
        plan.warn_not_simulated(message);
    }
    let mut status = service.status();
    status["observedGeneration"] = json!(service.object.metadata.generation);
    status["deploymentMode"] = json!("Standard");
    let stopped = annotations.get(STOP).is_some_and(|stop| stop == "true");
    let mut ready = true;
    for (component, condition_type) in COMPONENTS {
        let own = &spec[component];
        let name = format!("{}-{component}", service.name());
        let deployment = service.child("Deployment", &name);
        if own.is_null() || stopped {
            plan.delete
                .extend(deployment.map(|old| ChildReference::dynamic(old)));
            if stopped && !own.is_null() {
                set(service, &mut status, condition_type, (false, "Stopped", ""));
            }
            continue;
        }
        match pod_spec(component, own) {
            Ok(pod) => {
                ready &= plan_component(
                    service,
                    &Component {
                        component,
                        condition_type,
                        name,
                        own,
                        pod,
                    },
                    deployment,
                    (&mut status, &mut plan),
                )
            }
            Err(message) => return ReconcilePlan::not_simulated(format!("{component}: {message}")),
        }
    }
    set(
        service,
        &mut status,
        "Stopped",
        (stopped, if stopped { "Stopped" } else { "" }, ""),
    );
    if stopped {
        set(service, &mut status, "Ready", (false, "Stopped", ""));
    } else {
        let url = format!(
            "http://{}-{}.example.com",
            service.name(),
            service.namespace()
        );
        status["url"] = json!(url);
        set(service, &mut status, "IngressReady", (ready, "", ""));
        set(service, &mut status, "Ready", (ready, "", ""));
        let state = if ready { "Loaded" } else { "Pending" };
        status["modelStatus"] = json!({
            "states": {"activeModelState": if ready { "Loaded" } else { "" }, "targetModelState": state},
            "transitionStatus": if ready { "UpToDate" } else { "InProgress" },
        });
    }
    plan.status = Some(status);
    plan
}

fn set(
    service: &Observed<'_>,
    status: &mut Value,
    condition_type: &str,
    (is, reason, message): (bool, &str, &str),
) {
    service.set_condition(status, condition_type, is, reason, message);
}

/// A component of an InferenceService.
struct Component<'a> {
    component: &'static str,
    condition_type: &'static str,
    /// The name of its Deployment.
    name: String,
    own: &'a Value,
    /// The spec of its pods.
    pod: Value,
}

/// Creates or updates the Deployment of a component, and sets its condition. True if it is ready.
fn plan_component(
    service: &Observed<'_>,
    component: &Component<'_>,
    deployment: Option<&Arc<DynamicObject>>,
    (status, plan): (&mut Value, &mut ReconcilePlan),
) -> bool {
    let own = component.own;
    let min = own["minReplicas"].as_i64().unwrap_or(1).max(1);
    let max = own["maxReplicas"]
        .as_i64()
        .filter(|max| *max > 0)
        .unwrap_or(min)
        .max(min);
    if max > min {
        plan.warn_not_simulated(format!(
            "{}.maxReplicas: the number of replicas does not change with the load",
            component.component
        ));
    }
    let Some(deployment) = deployment else {
        plan.create.push(deployment_object(service, component, min));
        plan.create.push(service_object(service, component));
        let reason = (
            false,
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        );
        set(service, status, component.condition_type, reason);
        return false;
    };
    let replicas = deployment.data["spec"]["replicas"].as_i64().unwrap_or(1);
    if !(min..=max.max(replicas)).contains(&replicas) {
        let patch = json!({"spec": {"replicas": min}});
        plan.patch
            .push((ChildReference::dynamic(deployment), patch));
    }
    let available = find(&deployment.data["status"], "Available");
    let text = |field: &str| {
        available
            .and_then(|c| c[field].as_str())
            .unwrap_or_default()
    };
    let ready = is_true(&deployment.data["status"], "Available");
    let condition = (ready, text("reason"), text("message"));
    set(service, status, component.condition_type, condition);
    status["components"][component.component] = json!({});
    ready
}

/// The spec of the pods of a component.
fn pod_spec(component: &str, own: &Value) -> Result<Value, &'static str> {
    let framework = FRAMEWORKS
        .iter()
        .find(|framework| own[**framework].is_object());
    let model = match framework {
        Some(framework) => &own[*framework],
        None => &own["model"],
    };
    let mut pod = json!({});
    for (field, value) in fields(own) {
        if !EXTENSIONS.contains(&field.as_str()) && !FRAMEWORKS.contains(&field.as_str()) {
            pod[field] = value.clone();
        }
    }
    if model.is_object() {
        let format = model["modelFormat"]["name"].as_str().or(framework.copied());
        let mut container = json!({
            "name": CONTAINER,
            "image": format!("kserve/{}server", format.unwrap_or("model")),
        });
        let names = [
            "image",
            "command",
            "args",
            "env",
            "envFrom",
            "ports",
            "resources",
            "volumeMounts",
            "securityContext",
            "readinessProbe",
            "livenessProbe",
            "startupProbe",
            "imagePullPolicy",
        ];
        copy_fields(model, &mut container, &names);
        let mut all = vec![container];
        all.extend(items(&pod["containers"]).iter().cloned());
        pod["containers"] = json!(all);
    } else if component == "predictor" && items(&pod["containers"]).is_empty() {
        return Err("needs a model or a container");
    }
    if !has_containers(&json!({"spec": pod})) {
        return Err("needs a container");
    }
    // The first container of a component has that name, and requests of its own or the defaults.
    let first = &mut pod["containers"][0];
    first["name"] = json!(CONTAINER);
    for (resource, amount) in [("cpu", "1"), ("memory", "2Gi")] {
        for (kind, other) in [("requests", "limits"), ("limits", "requests")] {
            if first["resources"][kind][resource].is_null() {
                let given = &first["resources"][other][resource];
                let amount = if given.is_null() {
                    json!(amount)
                } else {
                    given.clone()
                };
                first["resources"][kind][resource] = amount;
            }
        }
    }
    if first["readinessProbe"].is_null() {
        let port = items(&first["ports"])
            .first()
            .and_then(|port| port["containerPort"].as_u64());
        first["readinessProbe"] = json!({"tcpSocket": {"port": port.unwrap_or(PORT.into())}});
    }
    Ok(pod)
}

/// Labels and annotations: those of the InferenceService, then those of the component.
fn set_metadata(service: &Observed<'_>, component: &Component<'_>, object: &mut Value) {
    let own = metadata_of(service.object);
    let app = format!("isvc.{}", component.name);
    for source in [&own, component.own] {
        copy_entries(source, object, "labels");
        copy_entries(source, object, "annotations");
    }
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    let name = service.name();
    let labels = [
        (NAME_LABEL, name.as_str()),
        ("component", component.component),
        ("app", app.as_str()),
    ];
    set_labels(object, &labels);
}

fn deployment_object(service: &Observed<'_>, component: &Component<'_>, replicas: i64) -> Value {
    let mut template = json!({"metadata": {}, "spec": component.pod});
    set_metadata(service, component, &mut template);
    let app = &template["metadata"]["labels"]["app"];
    let mut deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": component.name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": app}},
            "template": template,
        },
    });
    if component.own["deploymentStrategy"].is_object() {
        deployment["spec"]["strategy"] = component.own["deploymentStrategy"].clone();
    }
    set_metadata(service, component, &mut deployment);
    deployment
}

fn service_object(service: &Observed<'_>, component: &Component<'_>) -> Value {
    let ports = &component.pod["containers"][0]["ports"];
    let port = items(ports)
        .first()
        .and_then(|port| port["containerPort"].as_u64());
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": component.name},
        "spec": {
            "selector": {"app": format!("isvc.{}", component.name)},
            "ports": [{
                "name": "http", "port": 80, "targetPort": port.unwrap_or(PORT.into()),
                "protocol": "TCP",
            }],
        },
    });
    set_metadata(service, component, &mut object);
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::pod_spec;

    #[test]
    fn model_and_custom_predictors() {
        let model = json!({
            "minReplicas": 2, "nodeSelector": {"pool": "x"},
            "model": {"modelFormat": {"name": "sklearn"}, "resources": {"requests": {"cpu": "100m"}}},
        });
        let pod = pod_spec("predictor", &model).unwrap();
        assert_eq!(pod["nodeSelector"], json!({"pool": "x"}));
        assert!(pod["minReplicas"].is_null());
        let container = &pod["containers"][0];
        assert_eq!(container["name"], "kserve-container");
        assert_eq!(
            container["resources"]["requests"],
            json!({"cpu": "100m", "memory": "2Gi"})
        );
        let custom = json!({"containers": [{"name": "own", "image": "i"}]});
        assert_eq!(
            pod_spec("predictor", &custom).unwrap()["containers"][0]["image"],
            "i"
        );
        assert!(pod_spec("predictor", &json!({})).is_err());
    }
}
