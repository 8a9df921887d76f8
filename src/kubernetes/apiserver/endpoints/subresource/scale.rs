//! `scale`: the replica count of a resource, as `autoscaling/v1` Scale.

use serde_json::{Value, json};

use super::super::guaranteed_update::guaranteed_update;
use super::super::patch::{self, apply_patch};
use super::super::request_context::RequestContext;
use super::super::response::ApiResponse;
use super::super::scale_conversion::{replicas_path, scale_from_object, with_replicas};
use super::super::write_options::WriteOptions;
use super::super::{managed_fields, request_body};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::schema::{self, strict_json as text_json};
use kueue_lab_apimachinery::strategy::scale_paths::ScalePaths;

const API_VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";

/// Handles a request to the scale subresource.
pub(super) async fn handle(call: &RequestContext<'_>, verb: &str) -> Result<ApiResponse, ApiError> {
    let name = &call.path.name;
    if verb == "get" {
        let object = call.stored_object()?;
        let scale = scale_from_object(call, &*call.transformer.decoded(&object)?);
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
            None if apply => return apply_scale(call, &options, old),
            None => apply_patch(call, &schema, &options, &scale_from_object(call, old))?,
        };
        with_replicas(call, old, &scale)
    };
    let (written, _) = guaranteed_update(call, &options, name, None, false, &transform).await?;
    let scale = scale_from_object(call, &*written.value(call)?);
    Ok(ApiResponse::value(200, call.transformer.accept, &scale))
}

/// The object after server-side apply of a Scale; only `spec.replicas` is applied.
fn apply_scale(
    call: &RequestContext<'_>,
    options: &WriteOptions,
    old: &Value,
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
        ScalePaths::set(&mut config, &replicas_path(call), replicas.clone());
    }
    let schema = call
        .served
        .schema()
        .ok_or_else(ApiError::method_not_allowed)?;
    managed_fields::apply_configuration(call, &schema, options, Some(old), &config)
}
