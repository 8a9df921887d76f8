//! Decodes objects from request bodies.

use serde_json::Value;

use super::request_context::RequestContext;
use crate::protobuf;
use crate::request::content_negotiation::MEDIA_TYPES;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::patch::FieldValidation;
use kueue_lab_apimachinery::schema::decode::{DecodeSource, decode};
use kueue_lab_apimachinery::schema::strict_json::{self, ParsedBody};
use kueue_lab_apimachinery::schema::{self, Schema};
use kueue_lab_apimachinery::status_reason::StatusReason;

/// The number of body bytes quoted in an error.
const EXCERPT_LENGTH: usize = 30;

/// The expected kind of a body and its schema.
#[derive(Clone, Copy)]
pub(super) struct ExpectedKind<'a> {
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    pub(super) schema: Option<&'a Schema>,
}

/// Decodes the body as the kind of the request's resource.
pub(super) fn decode_object(
    call: &RequestContext<'_>,
    validation: FieldValidation,
) -> Result<Value, ApiError> {
    let schema = call.served.schema();
    let expected = ExpectedKind {
        api_version: &call.served.api_version,
        kind: &call.served.kind.kind,
        schema: schema.as_deref(),
    };
    decode_body(call, expected, validation)
}

/// Decodes the body as another kind than the resource's, for subresources.
pub(super) fn decode_as(
    call: &RequestContext<'_>,
    api_version: &str,
    kind: &str,
    validation: FieldValidation,
) -> Result<Value, ApiError> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let schema = schema::builtin_schema(group, version, kind);
    decode_body(
        call,
        ExpectedKind {
            api_version,
            kind,
            schema: schema.as_deref(),
        },
        validation,
    )
}

fn decode_body(
    call: &RequestContext<'_>,
    expected: ExpectedKind<'_>,
    validation: FieldValidation,
) -> Result<Value, ApiError> {
    let body = &call.request.body;
    let unrecognized = |reason: String| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {reason} ({})",
            expected.kind,
            body_excerpt(body)
        ))
    };
    let mut parsed = match call.content_type() {
        "" | "application/json" => strict_json::parse(body).map_err(|e| {
            unrecognized(format!("couldn't get version/kind; json parse error: {e}"))
        })?,
        "application/yaml" => {
            strict_json::parse_yaml(body).map_err(|e| unrecognized(e.to_string()))?
        }
        protobuf::MEDIA_TYPE => ParsedBody {
            value: protobuf::decode(body).map_err(|e| unrecognized(e.to_string()))?,
            duplicates: Vec::new(),
        },
        _ => return Err(unsupported_media_type(MEDIA_TYPES)),
    };
    let given = default_type_meta(&mut parsed.value, expected).map_err(unrecognized)?;
    let cannot_be_handled = |reason: String| {
        ApiError::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: {reason}",
            given.1, given.0, expected.kind
        ))
    };
    if given.1 != expected.kind {
        return Err(cannot_be_handled(format!(
            "the kind in the data ({}) does not match the expected kind ({})",
            given.1, expected.kind
        )));
    }
    let mut errors: Vec<String> = parsed
        .duplicates
        .iter()
        .map(|path| format!("duplicate field {path:?}"))
        .collect();
    if let Some(schema) = expected.schema {
        let unknown = decode(schema, &mut parsed.value, DecodeSource::Json);
        let unknown = unknown.map_err(|error| cannot_be_handled(error.to_string()))?;
        errors.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    }
    match validation {
        FieldValidation::Strict if !errors.is_empty() => Err(cannot_be_handled(format!(
            "strict decoding error: {}",
            errors.join(", ")
        ))),
        FieldValidation::Warn => {
            errors.into_iter().for_each(|error| call.warn(error));
            Ok(parsed.value)
        }
        _ => Ok(parsed.value),
    }
}

/// Defaults apiVersion and kind of a body to the expected ones; returns both.
fn default_type_meta(
    value: &mut Value,
    expected: ExpectedKind<'_>,
) -> Result<(String, String), String> {
    let Some(object) = value.as_object_mut() else {
        return Err(
            "couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }"
                .into(),
        );
    };
    let mut fill = |field: &str, expected: &str| {
        let given = object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string();
        if given.is_empty() {
            object.insert(field.into(), expected.into());
            return expected.to_string();
        }
        given
    };
    let api_version = fill("apiVersion", expected.api_version);
    let version = api_version
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_string();
    Ok((version, fill("kind", expected.kind)))
}

/// 400 when the apiVersion of a body differs from that of the path.
pub(super) fn check_api_version(call: &RequestContext<'_>, object: &Value) -> Result<(), ApiError> {
    let expected = call.served.api_version.as_str();
    let given = object["apiVersion"].as_str().unwrap_or_default();
    if given == expected {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the API version in the data ({given}) does not match the expected API version ({expected})"
    )))
}

/// The start of a body, for errors: JSON as text, other encodings in hexadecimal.
fn body_excerpt(body: &[u8]) -> String {
    if body.is_empty() {
        return "<empty>".into();
    }
    let start = &body[..body.len().min(EXCERPT_LENGTH)];
    let more = if body.len() > EXCERPT_LENGTH {
        " ..."
    } else {
        ""
    };
    if body.starts_with(b"{") {
        return format!("{}{more}", String::from_utf8_lossy(start));
    }
    let hex: String = start.iter().map(|b| format!("{b:02x}")).collect();
    format!("{hex}{more}")
}

/// 415 with the accepted media types.
pub(super) fn unsupported_media_type(accepted: &str) -> ApiError {
    ApiError::new(
        415,
        StatusReason::UnsupportedMediaType,
        format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        ),
    )
}
