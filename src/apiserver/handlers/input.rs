//! Reading an object from a request body.

use serde_json::Value;

use super::call::Call;
use crate::patch::FieldValidation;
use crate::protobuf;
use crate::request::accept::MEDIA_TYPES;
use crate::schema::decode::{Source, decode};
use crate::schema::json::{self, Parsed};
use crate::schema::{self, Schema};
use crate::status::ApiError;

/// How much of a body an error quotes.
const QUOTED: usize = 30;

/// A kind a body may be of, and how it is checked.
#[derive(Clone, Copy)]
pub(super) struct Expected<'a> {
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    pub(super) schema: Option<&'a Schema>,
}

/// The object in the body, as the kind the path speaks of.
pub(super) fn object(call: &Call<'_>, validation: FieldValidation) -> Result<Value, ApiError> {
    let schema = call.served.schema();
    let expected = Expected {
        api_version: &call.served.api_version,
        kind: &call.served.kind.kind,
        schema: schema.as_deref(),
    };
    of_kind(call, expected, validation)
}

/// The object in the body, which is of another kind than the path's, as subresources take them.
pub(super) fn other(
    call: &Call<'_>,
    api_version: &str,
    kind: &str,
    validation: FieldValidation,
) -> Result<Value, ApiError> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let schema = schema::builtin(group, version, kind);
    of_kind(
        call,
        Expected {
            api_version,
            kind,
            schema: schema.as_deref(),
        },
        validation,
    )
}

fn of_kind(
    call: &Call<'_>,
    expected: Expected<'_>,
    validation: FieldValidation,
) -> Result<Value, ApiError> {
    let body = &call.incoming.body;
    let unrecognized = |why: String| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why} ({})",
            expected.kind,
            summary(body)
        ))
    };
    let mut parsed = match call.content_type() {
        "" | "application/json" => json::parse(body).map_err(|e| {
            unrecognized(format!("couldn't get version/kind; json parse error: {e}"))
        })?,
        "application/yaml" => json::parse_yaml(body).map_err(unrecognized)?,
        protobuf::MEDIA_TYPE => Parsed {
            value: protobuf::decode(body).map_err(|e| unrecognized(e.to_string()))?,
            duplicates: Vec::new(),
        },
        _ => return Err(unsupported(MEDIA_TYPES)),
    };
    let given = name_kind(&mut parsed.value, expected).map_err(unrecognized)?;
    let refuse = |why: String| {
        ApiError::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: {why}",
            given.1, given.0, expected.kind
        ))
    };
    if given.1 != expected.kind {
        return Err(refuse(format!(
            "the kind in the data ({}) does not match the expected kind ({})",
            given.1, expected.kind
        )));
    }
    let mut faults: Vec<String> = parsed
        .duplicates
        .iter()
        .map(|path| format!("duplicate field {path:?}"))
        .collect();
    if let Some(schema) = expected.schema {
        let unknown = decode(schema, &mut parsed.value, Source::Json).map_err(&refuse)?;
        faults.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    }
    match validation {
        FieldValidation::Strict if !faults.is_empty() => Err(refuse(format!(
            "strict decoding error: {}",
            faults.join(", ")
        ))),
        FieldValidation::Warn => {
            faults.into_iter().for_each(|fault| call.warn(fault));
            Ok(parsed.value)
        }
        _ => Ok(parsed.value),
    }
}

/// Fills in apiVersion and kind where the body names none; the version and kind it is of.
fn name_kind(value: &mut Value, expected: Expected<'_>) -> Result<(String, String), String> {
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

/// 400 when a body speaks another apiVersion than the path.
pub(super) fn check_api_version(call: &Call<'_>, object: &Value) -> Result<(), ApiError> {
    let expected = call.served.api_version.as_str();
    let given = object["apiVersion"].as_str().unwrap_or_default();
    if given == expected {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the API version in the data ({given}) does not match the expected API version ({expected})"
    )))
}

/// The beginning of a body, for errors: JSON as it is, anything else in hexadecimal.
fn summary(body: &[u8]) -> String {
    if body.is_empty() {
        return "<empty>".into();
    }
    let start = &body[..body.len().min(QUOTED)];
    let more = if body.len() > QUOTED { " ..." } else { "" };
    if body.starts_with(b"{") {
        return format!("{}{more}", String::from_utf8_lossy(start));
    }
    let hex: String = start.iter().map(|b| format!("{b:02x}")).collect();
    format!("{hex}{more}")
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
