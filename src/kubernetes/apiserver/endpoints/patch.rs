//! The patch handler.

use serde_json::Value;

use super::guaranteed_update::guaranteed_update;
use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::write_options::WriteOptions;
use super::{managed_fields, request_body};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::patch::{PatchType, patch as compute};
use kueue_lab_apimachinery::schema::Schema;
use kueue_lab_apimachinery::schema::decode::{DecodeSource, decode};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// Server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// Handles PATCH of a named object.
pub(super) async fn patch(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    check_media_type(call)?;
    let options = WriteOptions::from_request(call, "PatchOptions")?;
    let schema = call
        .served
        .schema()
        .ok_or_else(ApiError::method_not_allowed)?;
    let apply = call.content_type() == APPLY;
    let transform = |old: Option<&Value>| {
        if apply {
            return managed_fields::server_side_apply(call, &schema, &options, old);
        }
        let old = old.ok_or_else(|| call.not_found(&call.path.name))?;
        apply_patch(call, &schema, &options, old)
    };
    let (written, created) =
        guaranteed_update(call, &options, &call.path.name, None, apply, &transform).await?;
    written.to_response(call, if created { 201 } else { 200 })
}

/// 415 when the kind does not support the patch type.
pub(super) fn check_media_type(call: &RequestContext<'_>) -> Result<(), ApiError> {
    // Strategic merge patch needs merge keys, which custom resources do not have
    let custom = call.served.schema().is_some_and(|s| s.is_custom());
    let accepted: &[&str] = match custom {
        true => &[JSON, MERGE, APPLY],
        false => &[JSON, MERGE, STRATEGIC, APPLY],
    };
    if accepted.contains(&call.content_type()) {
        return Ok(());
    }
    Err(request_body::unsupported_media_type(&accepted.join(", ")))
}

fn patch_type(call: &RequestContext<'_>) -> Option<PatchType> {
    match call.content_type() {
        JSON => Some(PatchType::Json),
        MERGE => Some(PatchType::Merge),
        STRATEGIC => Some(PatchType::Strategic),
        _ => None,
    }
}

/// Applies the patch in the request body to an object of the given schema.
pub(super) fn apply_patch(
    call: &RequestContext<'_>,
    schema: &Schema,
    options: &WriteOptions,
    old: &Value,
) -> Result<Value, ApiError> {
    let patch_type = patch_type(call).ok_or_else(|| request_body::unsupported_media_type(APPLY))?;
    let decode_patched = |object: &mut Value, source: DecodeSource| decode(schema, object, source);
    let body = &call.request.body;
    let patched = compute(
        patch_type,
        schema,
        &decode_patched,
        old,
        body,
        options.field_validation,
    )?;
    patched.warnings.into_iter().for_each(|w| call.warn(w));
    Ok(patched.object)
}
