//! The update handler.

use super::guaranteed_update::guaranteed_update;
use super::request_body;
use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::write_options::WriteOptions;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;

/// Handles PUT of a named object.
pub(super) async fn update(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let options = WriteOptions::from_request(call, "UpdateOptions")?;
    let object = request_body::decode_object(call, options.field_validation)?;
    request_body::check_api_version(call, &object)?;
    let may_create = call.served.kind.strategy.allow_create_on_update();
    let transform = |_: Option<&serde_json::Value>| Ok(object.clone());
    let uid = Some(object_meta::meta_str(&object, "uid"));
    let (written, created) =
        guaranteed_update(call, &options, &call.path.name, uid, may_create, &transform).await?;
    written.to_response(call, if created { 201 } else { 200 })
}
