//! [`FieldManager`]: the context of a write for field management.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::field_set::FieldSet;
use super::path_element;
use super::version_converter::VersionConverter;
use crate::api_error::ApiError;
use crate::schema::Schema;
use crate::status_reason::StatusReason;

/// A write request of a field manager.
pub struct FieldManager<'a> {
    /// The field manager; see [`manager_name`].
    pub manager: &'a str,
    /// `group/version` of the request.
    pub api_version: &'a str,
    /// Kind of the object.
    pub kind: &'a str,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Schema of the kind in the version of the request.
    pub schema: &'a Schema,
    /// The kind's other versions.
    pub versions: &'a dyn VersionConverter,
    /// Fields that this endpoint resets, such as `status` of the main resource; a write does not
    /// become their owner (`ResetFieldsStrategy`).
    pub reset_fields: &'a FieldSet,
    /// The time to record.
    pub now: Timestamp,
}

/// The result of a server-side apply.
#[derive(Debug)]
pub struct ApplyResult {
    /// The object with its new `managedFields`, before decoding and defaulting.
    pub object: Value,
    /// Whether anything but `managedFields` may differ from the live object.
    pub changed: bool,
}

/// The field manager of a request: the `fieldManager` parameter, or the printable prefix of the
/// user agent before the first slash, limited in length.
pub fn manager_name(parameter: &str, user_agent: &str) -> String {
    if !parameter.is_empty() {
        return parameter.into();
    }
    let name = user_agent.split('/').next().unwrap_or_default();
    let mut out = String::new();
    for c in name.chars().filter(|c| !c.is_control()) {
        if out.len() + c.len_utf8() > 128 {
            break;
        }
        out.push(c);
    }
    out
}

/// A set of fields for [`FieldManager::reset_fields`]; each path consists of field names from the
/// root.
pub fn reset_fields(paths: &[&[&str]]) -> FieldSet {
    let mut set = FieldSet::default();
    for path in paths {
        let elements: Vec<String> = path.iter().map(|name| path_element::field(name)).collect();
        set.insert(elements.iter().map(String::as_str));
    }
    set
}

/// The live object, or the empty one before a create.
pub(crate) fn live_or_empty<'a>(
    writer: &FieldManager<'_>,
    live: Option<&'a Value>,
) -> Cow<'a, Value> {
    live.map_or_else(|| Cow::Owned(empty_object(writer)), Cow::Borrowed)
}

/// The empty object of a kind: the encoding of a zero Go struct, or apiVersion and kind of a custom
/// resource.
pub(crate) fn empty_object(writer: &FieldManager<'_>) -> Value {
    let mut object = crate::schema::decode::zero(writer.schema);
    if writer.schema.is_custom() || !object.is_object() {
        object = Value::Object(serde_json::Map::new());
    }
    object["apiVersion"] = writer.api_version.into();
    object["kind"] = writer.kind.into();
    object
}

/// The object in error messages: `namespace/name; group/version, Kind=Kind`.
pub(crate) fn object_description(writer: &FieldManager<'_>, object: &Value) -> String {
    let text = |path| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    format!(
        "{namespace}/{name}; {}, Kind={}",
        writer.api_version, writer.kind
    )
}

/// An error that is not an `APIStatus`: code 500 without a reason.
pub(crate) fn untyped_error(text: String) -> ApiError {
    ApiError::new(500, StatusReason::Unknown, text)
}
