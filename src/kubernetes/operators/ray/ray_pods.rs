//! Pods and the head service of a RayCluster.

use serde_json::{Value, json};

use super::super::child_objects;
use super::super::observed::Observed;
use super::gcs_fault_tolerance;

/// Label: the RayCluster of a pod.
pub(super) const CLUSTER: &str = "ray.io/cluster";
/// Label: `head` or `worker`.
pub(super) const NODE_TYPE: &str = "ray.io/node-type";
/// Label: the worker group; `headgroup` for the head.
pub(super) const GROUP: &str = "ray.io/group";
/// The group of the head.
pub(super) const HEAD_GROUP: &str = "headgroup";
/// The longest part of the cluster's name in the name of a pod.
const LONGEST_PREFIX: usize = 50;

/// The head pod, with the sidecar of the autoscaler if it is enabled.
pub(super) fn head_pod(cluster: &Observed<'_>) -> Value {
    let spec = cluster.spec();
    let mut pod = ray_pod(cluster, &spec["headGroupSpec"], "head", HEAD_GROUP);
    if spec["enableInTreeAutoscaling"] == true {
        let ray_image = pod["spec"]["containers"][0]["image"].clone();
        let sidecar = autoscaler_container(&spec["autoscalerOptions"], ray_image);
        if let Some(containers) = pod["spec"]["containers"].as_array_mut() {
            containers.push(sidecar);
        }
    }
    gcs_fault_tolerance::configure_head(cluster, &mut pod);
    pod
}

/// The container of the autoscaler, KubeRay's `BuildAutoscalerContainer`.
fn autoscaler_container(options: &Value, ray_image: Value) -> Value {
    let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
    let cluster = field(&format!("metadata.labels['{CLUSTER}']"));
    let requests = json!({"cpu": "500m", "memory": "512Mi"});
    let mut container = json!({
        "name": "autoscaler",
        "image": ray_image,
        "env": [
            {"name": "RAY_CLUSTER_NAME", "valueFrom": cluster},
            {"name": "RAY_CLUSTER_NAMESPACE", "valueFrom": field("metadata.namespace")},
            {"name": "RAY_HEAD_POD_NAME", "valueFrom": field("metadata.name")},
            {"name": "KUBERAY_CRD_VER", "value": "v1"},
        ],
        "command": ["/bin/bash", "-c", "--"],
        "args": ["ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"],
        "resources": {"requests": requests, "limits": requests},
    });
    for name in [
        "image",
        "imagePullPolicy",
        "command",
        "args",
        "resources",
        "envFrom",
        "securityContext",
    ] {
        if !options[name].is_null() {
            container[name] = options[name].clone();
        }
    }
    let own_variables = child_objects::items(&options["env"]).iter().cloned();
    if let Some(variables) = container["env"].as_array_mut() {
        variables.extend(own_variables);
    }
    container
}

/// One pod of a worker group.
pub(super) fn worker_pod(cluster: &Observed<'_>, group: &Value) -> Value {
    let name = group["groupName"].as_str().unwrap_or_default();
    ray_pod(cluster, group, "worker", name)
}

fn ray_pod(cluster: &Observed<'_>, group: &Value, node_type: &str, group_name: &str) -> Value {
    let name = cluster.name();
    let prefix = name.get(..LONGEST_PREFIX).unwrap_or(&name).to_lowercase();
    let prefix = format!("{prefix}-{node_type}-");
    let identifier = format!("{name}-{node_type}");
    let labels = [
        ("ray.io/is-ray-node", "yes"),
        (CLUSTER, name.as_str()),
        (NODE_TYPE, node_type),
        (GROUP, group_name),
        ("ray.io/identifier", tail(&identifier)),
        ("app.kubernetes.io/name", "kuberay"),
        ("app.kubernetes.io/created-by", "kuberay-operator"),
    ];
    let mut pod = child_objects::pod(&group["template"], json!({"generateName": prefix}), &labels);
    let own: Vec<(&str, &str)> = child_objects::fields(&group["labels"])
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect();
    child_objects::set_labels(&mut pod, &own);
    let service = format!(
        "{}.{}.svc.cluster.local",
        head_service_name(cluster),
        cluster.namespace()
    );
    let address = match node_type {
        "head" => "127.0.0.1:6379".to_owned(),
        _ => format!("{service}:6379"),
    };
    let variables = [
        ("RAY_CLUSTER_NAME", name.clone()),
        ("RAY_PORT", "6379".to_owned()),
        ("FQ_RAY_IP", service),
        ("RAY_ADDRESS", address),
    ];
    child_objects::add_env(&mut pod["spec"], &variables);
    if let Some(container) = child_objects::items_mut(&mut pod["spec"]["containers"]).first_mut() {
        set_ray_start(container, &group["rayStartParams"], node_type);
    }
    pod
}

/// Runs `ray start --block` in the Ray container, after its own command if it has one.
fn set_ray_start(container: &mut Value, parameters: &Value, node_type: &str) {
    let mut start = match node_type {
        "head" => "ulimit -n 65536; ray start --head".to_owned(),
        _ => "ulimit -n 65536; ray start --address=$RAY_ADDRESS".to_owned(),
    };
    for (key, value) in child_objects::fields(parameters) {
        start.push_str(&format!(" --{key}={}", value.as_str().unwrap_or_default()));
    }
    start.push_str(" --block");
    let words = ["command", "args"].into_iter();
    let own: Vec<&str> = words
        .flat_map(|field| child_objects::items(&container[field]))
        .filter_map(Value::as_str)
        .filter(|word| !["/bin/bash", "/bin/sh", "bash", "sh", "-c", "-lc", "--"].contains(word))
        .collect();
    if !own.is_empty() {
        start = format!("{} && {start}", own.join(" "));
    }
    container["command"] = json!(["/bin/bash", "-c", "--"]);
    container["args"] = json!([start]);
}

/// The last 63 bytes of a label value.
fn tail(value: &str) -> &str {
    value.get(value.len().saturating_sub(63)..).unwrap_or(value)
}

/// The name of the head service.
pub(super) fn head_service_name(cluster: &Observed<'_>) -> String {
    let own = &cluster.spec()["headGroupSpec"]["headService"]["metadata"]["name"];
    let default = || format!("{}-head-svc", cluster.name());
    own.as_str().map_or_else(default, str::to_owned)
}

/// The head service.
pub(super) fn head_service(cluster: &Observed<'_>) -> Value {
    let name = cluster.name();
    let identifier = format!("{name}-head");
    let selector = json!({
        CLUSTER: name,
        NODE_TYPE: "head",
        "ray.io/identifier": tail(&identifier),
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    });
    let port = |(name, port): (&str, u16)| json!({"name": name, "port": port, "targetPort": port, "protocol": "TCP", "appProtocol": "tcp"});
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": head_service_name(cluster), "labels": selector},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": selector,
            "ports": PORTS.map(port),
        },
    })
}

/// The ports of the head service.
pub(super) const PORTS: [(&str, u16); 5] = [
    ("client", 10001),
    ("dashboard", 8265),
    ("gcs-server", 6379),
    ("metrics", 8080),
    ("serve", 8000),
];
