//! `pods/binding`: giving a pod to a node.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::call::Call;
use super::super::change::direct;
use super::super::options::WriteOptions;
use super::super::reply::Reply;
use super::super::{input, meta};
use super::{done, text};
use crate::field::FieldError;
use crate::status::ApiError;

/// Labels of a node that its pods get too.
const TOPOLOGY: [&str; 2] = [
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// POST of a Binding to a pod.
pub(super) fn bind(call: &Call<'_>) -> Result<Reply, ApiError> {
    let options = WriteOptions::of(call, "CreateOptions")?;
    let binding = input::other(call, "v1", "Binding", options.validation)?;
    if meta::text(&binding, "name") != call.path.name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    apply(call, call, &options, &binding)
}

/// POST to `bindings`, the old way: the binding itself names the pod.
pub(in super::super) fn bind_unnamed(call: &Call<'_>) -> Result<Reply, ApiError> {
    let options = WriteOptions::of(call, "CreateOptions")?;
    let binding = input::other(call, "v1", "Binding", options.validation)?;
    let pods = call
        .core
        .registry
        .find("", "v1", "pods")
        .ok_or_else(ApiError::no_such_resource)?;
    apply(call, &call.about(pods), &options, &binding)
}

fn apply(
    call: &Call<'_>,
    pods: &Call<'_>,
    options: &WriteOptions,
    binding: &Value,
) -> Result<Reply, ApiError> {
    let name = meta::text(binding, "name");
    let errors = validate(binding);
    if !errors.is_empty() {
        return Err(ApiError::invalid("", "Binding", name, &errors));
    }
    let node = text(binding, "/target/name").to_string();
    let now = call.core.clock.now();
    let conflict = |why: String| ApiError::conflict("", "pods/binding", name, &why);
    direct(pods, options, name, &|pod: &Value| {
        check(binding, pod, name).map_err(conflict)?;
        let mut pod = pod.clone();
        pod["spec"]["nodeName"] = node.as_str().into();
        take_over(&mut pod, binding, "annotations");
        take_over(&mut pod, binding, "labels");
        topology(call, &mut pod, &node);
        scheduled(&mut pod, now);
        Ok(pod)
    })?;
    Ok(done(call))
}

fn validate(binding: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = text(binding, "/target/kind");
    if !matches!(kind, "" | "Node") {
        errors.push(FieldError::not_supported(
            "target.kind",
            kind,
            &["Node", "<empty>"],
        ));
    }
    if text(binding, "/target/name").is_empty() {
        errors.push(FieldError::required("target.name", ""));
    }
    errors
}

/// Why the pod cannot be bound, if it cannot.
fn check(binding: &Value, pod: &Value, name: &str) -> Result<(), String> {
    let uid = meta::text(binding, "uid");
    let own = meta::text(pod, "uid");
    if !uid.is_empty() && uid != own {
        return Err(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {own}"
        ));
    }
    if meta::is_terminating(pod) {
        return Err(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    let node = text(pod, "/spec/nodeName");
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
fn take_over(pod: &mut Value, binding: &Value, field: &str) {
    let Some(given) = binding["metadata"].get(field).and_then(Value::as_object) else {
        return;
    };
    let own = meta::meta_mut(pod)
        .entry(field)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(own) = own.as_object_mut() {
        own.extend(given.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
}

/// Gives the pod the topology labels of its node.
fn topology(call: &Call<'_>, pod: &mut Value, node: &str) {
    let Some(nodes) = call.core.registry.find("", "v1", "nodes") else {
        return;
    };
    let Some(node) = nodes.space.as_ref().and_then(|space| space.get(node)) else {
        return;
    };
    let found: Map<String, Value> = TOPOLOGY
        .into_iter()
        .filter_map(|key| Some((key.to_string(), node.label(key)?.into())))
        .collect();
    if !found.is_empty() {
        take_over(pod, &json!({"metadata": {"labels": found}}), "labels");
    }
}

/// Notes in the status that the pod has been scheduled.
fn scheduled(pod: &mut Value, now: Timestamp) {
    let condition = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": meta::time(now),
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
