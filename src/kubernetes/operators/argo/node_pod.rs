//! The pod of a node: the main container under Argo's executor, and the executor's own containers.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::child_objects::{
    copy_entries, copy_fields, items, set_annotations, set_labels, text_of,
};
use super::super::observed::Observed;
use kueue_lab_controller_utils::template_hash::fnv32a;

/// The executor in the containers of a pod.
const EXECUTOR: &str = "/var/run/argo/argoexec";
/// The image of the executor.
const EXECUTOR_IMAGE: &str = "quay.io/argoproj/argoexec";
/// Annotation: the node of a pod.
pub(super) const NODE_NAME: &str = "workflows.argoproj.io/node-name";

/// The ID of a node.
pub(super) fn node_id(workflow: &str, node: &str) -> String {
    match workflow == node {
        true => workflow.to_owned(),
        false => format!("{workflow}-{}", fnv32a(node.as_bytes())),
    }
}

/// The pod of a node with this template.
pub(super) fn node_pod(workflow: &Observed<'_>, node: &str, template: &Value) -> Value {
    let spec = workflow.spec();
    let name = workflow.name();
    let pod_name = match name == node {
        true => name.clone(),
        false => {
            let template = template["name"].as_str().unwrap_or_default();
            format!("{name}-{template}-{}", fnv32a(node.as_bytes()))
        }
    };
    let is_script = template["script"].is_object();
    let own = if is_script {
        &template["script"]
    } else {
        &template["container"]
    };
    let mut main = own.clone();
    let words = |field: &str| items(&own[field]).iter().map(text_of);
    let mut command = vec![EXECUTOR.to_owned(), "emissary".to_owned(), "--".to_owned()];
    command.extend(words("command"));
    let mut args: Vec<String> = words("args").collect();
    if is_script {
        // Argo stores the source in a file and passes its path.
        args = vec!["-c".to_owned(), text_of(&own["source"])];
        if let Some(fields) = main.as_object_mut() {
            fields.remove("source");
        }
    }
    main["name"] = json!("main");
    main["command"] = json!(command);
    main["args"] = json!(args);
    let executor = |name: &str, command: &str| json!({"name": name, "image": EXECUTOR_IMAGE, "command": ["argoexec", command]});
    let mut containers = vec![executor("wait", "wait"), main];
    containers.extend(items(&template["sidecars"]).iter().cloned());
    let mut init = vec![executor("init", "init")];
    init.extend(items(&template["initContainers"]).iter().cloned());
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod_name},
        "spec": {"restartPolicy": "Never", "initContainers": init, "containers": containers},
    });
    let fields = [
        "nodeSelector",
        "tolerations",
        "affinity",
        "securityContext",
        "serviceAccountName",
        "automountServiceAccountToken",
        "schedulerName",
        "hostAliases",
        "hostNetwork",
        "dnsPolicy",
        "dnsConfig",
        "imagePullSecrets",
        "priorityClassName",
    ];
    copy_fields(spec, &mut pod["spec"], &fields);
    if !spec["podPriorityClassName"].is_null() {
        pod["spec"]["priorityClassName"] = spec["podPriorityClassName"].clone();
    }
    copy_fields(template, &mut pod["spec"], &fields);
    if let Some(seconds) = template["activeDeadlineSeconds"].as_i64() {
        pod["spec"]["activeDeadlineSeconds"] = json!(seconds);
    }
    let volumes: Vec<Value> = [&spec["volumes"], &template["volumes"]]
        .into_iter()
        .flat_map(|volumes| items(volumes).iter().cloned())
        .collect();
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = json!(volumes);
    }
    for source in [&spec["podMetadata"], &template["metadata"]] {
        copy_entries(source, &mut pod, "labels");
        copy_entries(source, &mut pod, "annotations");
    }
    let labels = [
        ("workflows.argoproj.io/workflow", name.as_str()),
        ("workflows.argoproj.io/completed", "false"),
    ];
    set_labels(&mut pod, &labels);
    let id = node_id(&name, node);
    let annotations = [
        (NODE_NAME, node),
        ("workflows.argoproj.io/node-id", id.as_str()),
        ("kubectl.kubernetes.io/default-container", "main"),
    ];
    set_annotations(&mut pod, &annotations);
    pod
}

/// Whether the pod is the one of the node.
pub(super) fn is_pod_of(pod: &k8s_openapi::api::core::v1::Pod, node: &str) -> bool {
    pod.annotations()
        .get(NODE_NAME)
        .is_some_and(|name| name == node)
}
