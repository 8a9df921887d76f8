//! Construction of child objects from untyped templates.

use serde_json::{Value, json};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

/// A Pod of a template. Its labels and annotations are those of the template and the given ones.
pub(super) fn pod(template: &Value, name: Value, labels: &[(&str, &str)]) -> Value {
    let mut metadata = name;
    for field in ["labels", "annotations"] {
        if let Some(Value::Object(own)) = template["metadata"].get(field) {
            metadata[field] = Value::Object(own.clone());
        }
    }
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template["spec"].clone(),
    });
    set_labels(&mut pod, labels);
    pod
}

/// Sets labels in the metadata of an object or template.
pub(super) fn set_labels(object: &mut Value, labels: &[(&str, &str)]) {
    set_strings(object, "labels", labels);
}

/// Sets annotations in the metadata of an object or template.
pub(super) fn set_annotations(object: &mut Value, annotations: &[(&str, &str)]) {
    set_strings(object, "annotations", annotations);
}

fn set_strings(object: &mut Value, field: &str, values: &[(&str, &str)]) {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    if !object["metadata"][field].is_object() {
        object["metadata"][field] = json!({});
    }
    for (key, value) in values {
        object["metadata"][field][*key] = json!(value);
    }
}

/// Adds environment variables to all containers of a pod spec that do not set them.
pub(super) fn add_env(spec: &mut Value, variables: &[(&str, String)]) {
    let containers = spec
        .get_mut("containers")
        .map(items_mut)
        .unwrap_or_default();
    for container in containers.iter_mut().filter(|c| c.is_object()) {
        for (name, value) in variables {
            let env = &mut container["env"];
            if !env.is_array() {
                *env = json!([]);
            }
            if let Value::Array(env) = env
                && !env.iter().any(|e| e["name"] == *name)
            {
                env.push(json!({"name": name, "value": value}));
            }
        }
    }
}

/// The items of a list; none for another value.
pub(super) fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The items of a list; none for another value.
pub(super) fn items_mut(list: &mut Value) -> &mut [Value] {
    list.as_array_mut()
        .map(Vec::as_mut_slice)
        .unwrap_or_default()
}

/// The fields of an object; none for another value.
pub(super) fn fields(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

/// The text of a value: strings without quotes, everything else as JSON.
pub(super) fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Copies the fields that are set.
pub(super) fn copy_fields(from: &Value, to: &mut Value, names: &[&str]) {
    for name in names {
        if !from[*name].is_null() {
            to[*name] = from[*name].clone();
        }
    }
}

/// Copies labels or annotations.
pub(super) fn copy_entries(from: &Value, to: &mut Value, field: &str) {
    let entries: Vec<_> = fields(&from[field])
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect();
    set_strings(to, field, &entries);
}

/// The labels and annotations of an object as a JSON value with the fields of its metadata.
pub(super) fn metadata_of(object: &kube::core::DynamicObject) -> Value {
    json!({"labels": object.labels(), "annotations": object.annotations()})
}

/// The largest count: counts are `int32` in the Go types.
const MAX_COUNT: i64 = i32::MAX as i64;

/// A count of the spec, by default `default`; negative values count as 0, and larger ones than an `int32` as its
/// largest. Sums and products of two counts do not overflow.
pub(super) fn count(value: &Value, default: usize) -> usize {
    match value.as_i64() {
        Some(number) => usize::try_from(number.min(MAX_COUNT)).unwrap_or(0),
        None => default,
    }
}

/// The value of a label of a pod.
pub(super) fn label<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.labels().get(key).map(String::as_str)
}

/// Whether the template of a pod has containers.
pub(super) fn has_containers(template: &Value) -> bool {
    let containers = items(&template["spec"]["containers"]);
    !containers.is_empty() && containers.iter().all(Value::is_object)
}
