//! `scale`: the number of replicas of anything that has one, as `autoscaling/v1` Scale.

use serde_json::{Value, json};

use super::super::call::Call;
use super::super::change::change;
use super::super::options::WriteOptions;
use super::super::patch::{self, patched};
use super::super::reply::Reply;
use super::super::{input, meta};
use super::text;
use crate::apiserver::field::FieldError;
use crate::apiserver::request::LabelSelector;
use crate::apiserver::schema;
use crate::apiserver::status::ApiError;

const API_VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";

/// Answers a request to the scale of an object.
pub(super) async fn answer(call: &Call<'_>, verb: &str) -> Result<Reply, ApiError> {
    let name = &call.path.name;
    if verb == "get" {
        let object = call
            .space()?
            .get(&call.key(name))
            .ok_or_else(|| call.not_found(name))?;
        let scale = of(&*call.view.decoded(&object)?);
        return Ok(Reply::value(200, call.view.accept, &scale));
    }
    let (options, put) = if verb == "update" {
        let options = WriteOptions::of(call, "UpdateOptions")?;
        let scale = input::other(call, API_VERSION, KIND, options.validation)?;
        (options, Some(scale))
    } else {
        patch::check_media_type(call)?;
        (WriteOptions::of(call, "PatchOptions")?, None)
    };
    let schema = schema::builtin("autoscaling", "v1", KIND);
    let schema = schema.ok_or_else(|| ApiError::internal("no schema of Scale"))?;
    let transform = |old: Option<&Value>| {
        let old = old.ok_or_else(|| call.not_found(name))?;
        let scale = match &put {
            Some(scale) => scale.clone(),
            None => patched(call, &schema, &options, &of(old))?,
        };
        scaled(call, old, &scale)
    };
    let (written, _) = change(call, &options, name, false, &transform).await?;
    let scale = of(&*written.value(call)?);
    Ok(Reply::value(200, call.view.accept, &scale))
}

/// The Scale of an object.
fn of(object: &Value) -> Value {
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
    let mut scale = json!({
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "spec": {},
        "status": {"replicas": object["status"]["replicas"].as_i64().unwrap_or(0)},
    });
    if let Some(replicas) = object["spec"]["replicas"].as_i64().filter(|n| *n != 0) {
        scale["spec"]["replicas"] = replicas.into();
    }
    let selector = &object["spec"]["selector"];
    let selector = match text(object, "/kind") {
        // Its selector is a plain map.
        "ReplicationController" => LabelSelector::of_object(&json!({"matchLabels": selector})),
        _ => LabelSelector::of_object(selector),
    };
    let selector = selector.to_string();
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    scale
}

/// The object with the replicas of a Scale.
fn scaled(call: &Call<'_>, old: &Value, scale: &Value) -> Result<Value, ApiError> {
    let name = meta::text(scale, "name");
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let why = "must be greater than or equal to 0";
        let error = FieldError::invalid("spec.replicas", replicas, why);
        return Err(ApiError::invalid("autoscaling", KIND, name, &[error]));
    }
    let uid = meta::text(scale, "uid");
    if !uid.is_empty() && uid != meta::text(old, "uid") {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            meta::text(old, "uid")
        );
        return Err(ApiError::conflict(
            &call.path.group,
            &call.path.resource,
            name,
            &why,
        ));
    }
    let mut new = old.clone();
    new["spec"]["replicas"] = replicas.into();
    let version = meta::text(scale, "resourceVersion").to_string();
    meta::meta_mut(&mut new).insert("resourceVersion".into(), version.into());
    Ok(new)
}
