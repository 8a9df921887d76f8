//! Reading an object from a request body.

use serde_json::Value;

use super::call::Call;
use crate::apiserver::request::accept::MEDIA_TYPES;
use crate::apiserver::status::ApiError;

/// The object in the body, as the kind the path speaks of.
pub(super) fn object(call: &Call<'_>) -> Result<Value, ApiError> {
    let body = &call.incoming.body;
    let mut value: Value = match call.content_type() {
        "" | "application/json" => serde_json::from_slice(body).map_err(|e| {
            ApiError::bad_request(format!("couldn't get version/kind; json parse error: {e}"))
        })?,
        "application/yaml" => serde_yaml::from_slice(body)
            .map_err(|e| ApiError::bad_request(format!("error converting YAML to JSON: {e}")))?,
        _ => return Err(unsupported(MEDIA_TYPES)),
    };
    let Some(object) = value.as_object_mut() else {
        return Err(ApiError::bad_request(
            "the object provided is not an object",
        ));
    };
    let kind = &call.served.kind;
    for (field, expected) in [
        ("apiVersion", &*call.served.api_version),
        ("kind", &*kind.kind),
    ] {
        match object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "" => {
                object.insert(field.into(), expected.into());
            }
            given if given != expected && field == "apiVersion" => {
                return Err(ApiError::bad_request(format!(
                    "the API version in the data ({given}) does not match the expected API version ({expected})"
                )));
            }
            _ => {}
        }
    }
    Ok(value)
}

/// 415 with what would be accepted.
pub(super) fn unsupported(accepted: &str) -> ApiError {
    ApiError::new(
        415,
        "UnsupportedMediaType",
        format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        ),
    )
}
