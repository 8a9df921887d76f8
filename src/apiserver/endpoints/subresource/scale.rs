//! `scale`: the replica count of a resource, as `autoscaling/v1` Scale.

use serde_json::{Value, json};

use super::super::guaranteed_update::guaranteed_update;
use super::super::patch::{self, apply_patch};
use super::super::request_context::RequestContext;
use super::super::response::ApiResponse;
use super::super::write_options::WriteOptions;
use super::super::{managed_fields, request_body};
use crate::apimachinery::api_error::ApiError;
use crate::apimachinery::label_selector::LabelSelector;
use crate::apimachinery::object_meta;
use crate::schema::{self, strict_json as text_json};
use crate::strategy::scale_paths::ScalePaths;
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

const API_VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";

/// Handles a request to the scale subresource.
pub(super) async fn answer(call: &RequestContext<'_>, verb: &str) -> Result<ApiResponse, ApiError> {
    let name = &call.path.name;
    let paths = call.served.kind.strategy.scale_paths();
    let paths = paths.as_ref();
    if verb == "get" {
        let object = call
            .storage()?
            .get(&call.storage_key(name))
            .ok_or_else(|| call.not_found(name))?;
        let scale = scale_from_object(&*call.transformer.decoded(&object)?, paths);
        return Ok(ApiResponse::value(200, call.transformer.accept, &scale));
    }
    let (options, put) = if verb == "update" {
        let options = WriteOptions::from_request(call, "UpdateOptions")?;
        let scale = request_body::decode_as(call, API_VERSION, KIND, options.field_validation)?;
        (options, Some(scale))
    } else {
        patch::check_media_type(call)?;
        (WriteOptions::from_request(call, "PatchOptions")?, None)
    };
    let schema = schema::builtin_schema("autoscaling", "v1", KIND);
    let schema = schema.ok_or_else(|| ApiError::internal("no schema of Scale"))?;
    let apply = put.is_none() && call.content_type() == patch::APPLY;
    let transform = |old: Option<&Value>| {
        let old = old.ok_or_else(|| call.not_found(name))?;
        let scale = match &put {
            Some(scale) => scale.clone(),
            None if apply => return apply_scale(call, &options, old, paths),
            None => apply_patch(call, &schema, &options, &scale_from_object(old, paths))?,
        };
        with_replicas(call, old, &scale, paths)
    };
    let (written, _) = guaranteed_update(call, &options, name, None, false, &transform).await?;
    let scale = scale_from_object(&*written.value(call)?, paths);
    Ok(ApiResponse::value(200, call.transformer.accept, &scale))
}

/// The Scale of an object.
fn scale_from_object(object: &Value, paths: Option<&ScalePaths>) -> Value {
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
        "kind": KIND,
        "apiVersion": API_VERSION,
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

/// The object after server-side apply of a Scale; only `spec.replicas` is applied.
fn apply_scale(
    call: &RequestContext<'_>,
    options: &WriteOptions,
    old: &Value,
    paths: Option<&ScalePaths>,
) -> Result<Value, ApiError> {
    let given = text_json::parse_yaml(&call.request.body)
        .map_err(|e| ApiError::bad_request(format!("error decoding YAML: {e}")))?
        .value;
    let mut config = json!({
        "apiVersion": call.served.api_version,
        "kind": &*call.served.kind.kind,
        "metadata": {"name": object_meta::meta_str(old, "name")},
    });
    if let Some(replicas) = given.pointer("/spec/replicas") {
        let path = paths.map_or(".spec.replicas", |p| &p.spec_replicas);
        ScalePaths::set(&mut config, path, replicas.clone());
    }
    let schema = call
        .served
        .schema()
        .ok_or_else(ApiError::method_not_allowed)?;
    managed_fields::apply_configuration(call, &schema, options, Some(old), &config)
}

/// The object with the replicas of a Scale.
fn with_replicas(
    call: &RequestContext<'_>,
    old: &Value,
    scale: &Value,
    paths: Option<&ScalePaths>,
) -> Result<Value, ApiError> {
    let name = object_meta::meta_str(scale, "name");
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let why = "must be greater than or equal to 0";
        let error = FieldError::invalid("spec.replicas", replicas, why);
        return Err(ApiError::invalid("autoscaling", KIND, name, &[error]));
    }
    let uid = object_meta::meta_str(scale, "uid");
    if !uid.is_empty() && uid != object_meta::meta_str(old, "uid") {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object_meta::meta_str(old, "uid")
        );
        return Err(ApiError::conflict(
            &call.path.group,
            &call.path.resource,
            name,
            &why,
        ));
    }
    let mut new = old.clone();
    let path = paths.map_or(".spec.replicas", |p| &p.spec_replicas);
    ScalePaths::set(&mut new, path, replicas.into());
    let version = object_meta::meta_str(scale, "resourceVersion").to_string();
    object_meta::meta_mut(&mut new).insert("resourceVersion".into(), version.into());
    Ok(new)
}
