//! `pods/binding`: binds a pod to a node.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::admission_chain::{AdmissionChain, OperationOptions, SubresourceKind};
use super::super::guaranteed_update::update_without_admission;
use super::super::request_body;
use super::super::request_context::RequestContext;
use super::super::response::ApiResponse;
use super::super::write_options::WriteOptions;
use super::dispatch::created_status;
use crate::plugins::Operation;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

/// Labels copied from the node to its pods.
const TOPOLOGY_LABELS: [&str; 2] = [
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// The kind of the objects of `pods/binding`.
const BINDING: SubresourceKind = SubresourceKind {
    group: "",
    version: "v1",
    kind: "Binding",
};

/// Handles POST of a Binding to a pod.
pub(super) async fn create_binding(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let options = WriteOptions::from_request(call, "CreateOptions")?;
    let name = &call.path.name;
    let binding = admit_binding(call, name, &options).await?;
    if object_meta::meta_str(&binding, "name") != name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    assign_pod(call, call, &options, &binding).await
}

/// Decodes the Binding and runs mutating admission.
async fn admit_binding(
    call: &RequestContext<'_>,
    name: &str,
    options: &WriteOptions,
) -> Result<Value, ApiError> {
    let mut binding = request_body::decode_as(call, "v1", "Binding", options.field_validation)?;
    object_meta::ensure_namespace(&mut binding, call.namespace())?;
    let chain = admission_chain(call, name, options);
    chain.mutate(&mut binding).await?;
    Ok(binding)
}

fn admission_chain<'a>(
    call: &'a RequestContext<'_>,
    name: &'a str,
    options: &'a WriteOptions,
) -> AdmissionChain<'a> {
    AdmissionChain {
        context: call,
        operation: Operation::Create,
        name,
        subresource_kind: Some(BINDING),
        old: None,
        options: OperationOptions::Write(options),
    }
}

/// Handles POST to the legacy `bindings` resource; the Binding names the pod.
pub(in super::super) async fn create_legacy_binding(
    call: &RequestContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let options = WriteOptions::from_request(call, "CreateOptions")?;
    let binding = admit_binding(call, "", &options).await?;
    let pods = call
        .core
        .registry
        .find("", "v1", "pods")
        .ok_or_else(ApiError::no_such_resource)?;
    assign_pod(call, &call.for_resource(pods), &options, &binding).await
}

async fn assign_pod(
    call: &RequestContext<'_>,
    pods: &RequestContext<'_>,
    options: &WriteOptions,
    binding: &Value,
) -> Result<ApiResponse, ApiError> {
    let name = object_meta::meta_str(binding, "name");
    let errors = validate(binding);
    if !errors.is_empty() {
        return Err(ApiError::invalid("", "Binding", name, &errors));
    }
    let chain = admission_chain(call, name, options);
    chain.validate(binding).await?;
    let node = binding.text("/target/name").to_string();
    let now = call.core.clock.now();
    let conflict = |reason: String| ApiError::conflict("", "pods/binding", name, &reason);
    update_without_admission(pods, options, name, &|pod: &Value| {
        check_assignable(binding, pod, name).map_err(conflict)?;
        let mut pod = pod.clone();
        pod["spec"]["nodeName"] = node.as_str().into();
        merge_metadata_map(&mut pod, binding, "annotations");
        merge_metadata_map(&mut pod, binding, "labels");
        set_topology_labels(call, &mut pod, &node);
        set_pod_scheduled(&mut pod, now);
        Ok(pod)
    })?;
    Ok(created_status(call))
}

fn validate(binding: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = binding.text("/target/kind");
    if !matches!(kind, "" | "Node") {
        errors.push(FieldError::not_supported(
            "target.kind",
            kind,
            &["Node", "<empty>"],
        ));
    }
    if binding.text("/target/name").is_empty() {
        errors.push(FieldError::required("target.name", ""));
    }
    errors
}

/// The reason a pod cannot be bound to the node, as an error.
fn check_assignable(binding: &Value, pod: &Value, name: &str) -> Result<(), String> {
    let uid = object_meta::meta_str(binding, "uid");
    let own = object_meta::meta_str(pod, "uid");
    if !uid.is_empty() && uid != own {
        return Err(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {own}"
        ));
    }
    if object_meta::is_terminating(pod) {
        return Err(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    let node = pod.text("/spec/nodeName");
    if !node.is_empty() {
        return Err(format!("pod {name} is already assigned to node {node:?}"));
    }
    let gates = pod
        .pointer("/spec/schedulingGates")
        .and_then(Value::as_array);
    if gates.is_some_and(|g| !g.is_empty()) {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    Ok(())
}

/// Copies annotations or labels of the binding to the pod.
fn merge_metadata_map(pod: &mut Value, binding: &Value, field: &str) {
    let Some(given) = binding["metadata"].get(field).and_then(Value::as_object) else {
        return;
    };
    let own = object_meta::meta_mut(pod)
        .entry(field)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(own) = own.as_object_mut() {
        own.extend(given.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
}

/// Copies the topology labels of the node to the pod.
fn set_topology_labels(call: &RequestContext<'_>, pod: &mut Value, node: &str) {
    let Some(nodes) = call.core.registry.find("", "v1", "nodes") else {
        return;
    };
    let Some(node) = nodes.storage.as_ref().and_then(|storage| storage.get(node)) else {
        return;
    };
    let found: Map<String, Value> = TOPOLOGY_LABELS
        .into_iter()
        .filter_map(|key| Some((key.to_string(), node.label(key)?.into())))
        .collect();
    if !found.is_empty() {
        merge_metadata_map(pod, &json!({"metadata": {"labels": found}}), "labels");
    }
}

/// Sets the PodScheduled condition.
fn set_pod_scheduled(pod: &mut Value, now: Timestamp) {
    let condition = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": object_meta::metav1_time(now),
    });
    let status = &mut pod["status"];
    if !status.is_object() {
        *status = json!({});
    }
    match status.get_mut("conditions").and_then(Value::as_array_mut) {
        Some(all) => match all.iter_mut().find(|c| c["type"] == "PodScheduled") {
            Some(present) if present["status"] == "True" => {
                let since = present["lastTransitionTime"].clone();
                *present = condition;
                present["lastTransitionTime"] = since;
            }
            Some(present) => *present = condition,
            None => all.push(condition),
        },
        None => status["conditions"] = json!([condition]),
    }
}
