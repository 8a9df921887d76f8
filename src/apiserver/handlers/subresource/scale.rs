//! `scale`: the number of replicas of anything that has one, as `autoscaling/v1` Scale.

use serde_json::{Value, json};

use super::super::call::Call;
use super::super::change::change;
use super::super::options::WriteOptions;
use super::super::patch::{self, patched};
use super::super::reply::Reply;
use super::super::{input, meta, owners};
use super::text;
use crate::crd::Paths;
use crate::field::FieldError;
use crate::request::LabelSelector;
use crate::schema::{self, json as text_json};
use crate::status::ApiError;

const API_VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";

/// Answers a request to the scale of an object.
pub(super) async fn answer(call: &Call<'_>, verb: &str) -> Result<Reply, ApiError> {
    let name = &call.path.name;
    let paths = call.served.kind.behaviour.scale();
    let paths = paths.as_ref();
    if verb == "get" {
        let object = call
            .space()?
            .get(&call.key(name))
            .ok_or_else(|| call.not_found(name))?;
        let scale = of(&*call.view.decoded(&object)?, paths);
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
    let apply = put.is_none() && call.content_type() == patch::APPLY;
    let transform = |old: Option<&Value>| {
        let old = old.ok_or_else(|| call.not_found(name))?;
        let scale = match &put {
            Some(scale) => scale.clone(),
            None if apply => return applied(call, &options, old, paths),
            None => patched(call, &schema, &options, &of(old, paths))?,
        };
        scaled(call, old, &scale, paths)
    };
    let (written, _) = change(call, &options, name, false, &transform).await?;
    let scale = of(&*written.value(call)?, paths);
    Ok(Reply::value(200, call.view.accept, &scale))
}

/// The Scale of an object.
fn of(object: &Value, paths: Option<&Paths>) -> Value {
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
    let at = |path: fn(&Paths) -> &str, usual: &str| match paths {
        Some(paths) => Paths::get(object, path(paths)).unwrap_or(&Value::Null),
        None => Paths::get(object, usual).unwrap_or(&Value::Null),
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
    let selector = match (text(object, "/kind"), selector) {
        (_, Value::String(text)) => text.clone(),
        // Its selector is a plain map.
        ("ReplicationController", map) => {
            LabelSelector::of_object(&json!({"matchLabels": map})).to_string()
        }
        (_, selector) if paths.is_none() => LabelSelector::of_object(selector).to_string(),
        _ => String::new(),
    };
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    scale
}

/// The object after server-side apply of a Scale: only the wanted number is applied.
fn applied(
    call: &Call<'_>,
    options: &WriteOptions,
    old: &Value,
    paths: Option<&Paths>,
) -> Result<Value, ApiError> {
    let given = text_json::parse_yaml(&call.incoming.body)
        .map_err(|e| ApiError::bad_request(format!("error decoding YAML: {e}")))?
        .value;
    let mut config = json!({
        "apiVersion": call.served.api_version,
        "kind": &*call.served.kind.kind,
        "metadata": {"name": meta::text(old, "name")},
    });
    if let Some(replicas) = given.pointer("/spec/replicas") {
        let path = paths.map_or(".spec.replicas", |p| &p.spec_replicas);
        Paths::set(&mut config, path, replicas.clone());
    }
    let schema = call
        .served
        .schema()
        .ok_or_else(ApiError::method_not_allowed)?;
    owners::apply_config(call, &schema, options, Some(old), &config)
}

/// The object with the replicas of a Scale.
fn scaled(
    call: &Call<'_>,
    old: &Value,
    scale: &Value,
    paths: Option<&Paths>,
) -> Result<Value, ApiError> {
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
    let path = paths.map_or(".spec.replicas", |p| &p.spec_replicas);
    Paths::set(&mut new, path, replicas.into());
    let version = meta::text(scale, "resourceVersion").to_string();
    meta::meta_mut(&mut new).insert("resourceVersion".into(), version.into());
    Ok(new)
}
