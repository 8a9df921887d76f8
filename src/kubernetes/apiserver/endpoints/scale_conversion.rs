//! Conversion between an object and its `autoscaling/v1` Scale.

use serde_json::{Value, json};

use super::admission_chain::SubresourceKind;
use super::request_context::RequestContext;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::label_selector::LabelSelector;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::strategy::scale_paths::ScalePaths;
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

/// The kind of scale subresources.
pub(super) const SCALE: SubresourceKind = SubresourceKind {
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
};

/// The Scale of an object.
pub(super) fn scale_from_object(call: &RequestContext<'_>, object: &Value) -> Value {
    let paths = call.served.kind.strategy.scale_paths();
    let paths = paths.as_ref();
    let mut metadata = json!({});
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let at = |path: fn(&ScalePaths) -> &str, usual: &str| match paths {
        Some(paths) => ScalePaths::get(object, path(paths)).unwrap_or(&Value::Null),
        None => ScalePaths::get(object, usual).unwrap_or(&Value::Null),
    };
    let present = at(|p| &p.status_replicas, ".status.replicas")
        .as_i64()
        .unwrap_or(0);
    let mut scale = json!({
        "kind": SCALE.kind,
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {},
        "status": {"replicas": present},
    });
    let wanted = at(|p| &p.spec_replicas, ".spec.replicas").as_i64();
    if let Some(replicas) = wanted.filter(|n| *n != 0) {
        scale["spec"]["replicas"] = replicas.into();
    }
    let selector = at(|p| &p.label_selector, ".spec.selector");
    let selector = match (object.text("/kind"), selector) {
        (_, Value::String(text)) => text.clone(),
        // Its selector is a label map.
        ("ReplicationController", map) => {
            LabelSelector::from_object(&json!({"matchLabels": map})).to_string()
        }
        (_, selector) if paths.is_none() => LabelSelector::from_object(selector).to_string(),
        _ => String::new(),
    };
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    scale
}

/// The path of the replicas in the requested resource, such as `.spec.replicas`.
pub(super) fn replicas_path(call: &RequestContext<'_>) -> String {
    let paths = call.served.kind.strategy.scale_paths();
    paths.map_or_else(|| ".spec.replicas".to_owned(), |p| p.spec_replicas)
}

/// The object with the replicas of a Scale.
///
/// # Errors
/// The replicas are negative, or the UID is not that of the object.
pub(super) fn with_replicas(
    call: &RequestContext<'_>,
    old: &Value,
    scale: &Value,
) -> Result<Value, ApiError> {
    let name = object_meta::meta_str(scale, "name");
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let reason = "must be greater than or equal to 0";
        let error = FieldError::invalid("spec.replicas", replicas, reason);
        return Err(ApiError::invalid(SCALE.group, SCALE.kind, name, &[error]));
    }
    let uid = object_meta::meta_str(scale, "uid");
    if !uid.is_empty() && uid != object_meta::meta_str(old, "uid") {
        let reason = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object_meta::meta_str(old, "uid")
        );
        return Err(ApiError::conflict(
            &call.path.group,
            &call.path.resource,
            name,
            &reason,
        ));
    }
    let mut new = old.clone();
    ScalePaths::set(&mut new, &replicas_path(call), replicas.into());
    let version = object_meta::meta_str(scale, "resourceVersion").to_string();
    object_meta::meta_mut(&mut new).insert("resourceVersion".into(), version.into());
    Ok(new)
}
