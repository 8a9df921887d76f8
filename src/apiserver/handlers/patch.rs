//! Changing an object by a patch.

use serde_json::Value;

use super::call::Call;
use super::change::change;
use super::input;
use super::options::WriteOptions;
use super::reply::Reply;
use crate::apiserver::status::ApiError;

/// The patch media types every kind accepts.
const ACCEPTED: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

/// PATCH of a named object.
pub(super) async fn patch(call: &Call<'_>) -> Result<Reply, ApiError> {
    let options = WriteOptions::of(call, "PatchOptions")?;
    let body: Value = serde_json::from_slice(&call.incoming.body)
        .map_err(|e| ApiError::bad_request(format!("error decoding patch: {e}")))?;
    let transform = |old: Option<&Value>| {
        let mut object = old
            .cloned()
            .ok_or_else(|| call.not_found(&call.path.name))?;
        match call.content_type() {
            "application/json-patch+json" => {
                let patch: json_patch::Patch = serde_json::from_value(body.clone())
                    .map_err(|e| ApiError::bad_request(e.to_string()))?;
                json_patch::patch(&mut object, &patch)
                    .map_err(|e| ApiError::new(422, "Invalid", e.to_string()))?;
            }
            "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
                json_patch::merge(&mut object, &body);
            }
            _ => return Err(input::unsupported(ACCEPTED)),
        }
        Ok(object)
    };
    let (written, created) = change(call, &options, &call.path.name, false, &transform).await?;
    written.show(call, if created { 201 } else { 200 })
}
