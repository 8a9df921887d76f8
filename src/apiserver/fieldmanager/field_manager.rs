//! A write and the field manager that makes it.

use jiff::Timestamp;
use serde_json::Value;

use super::field_set::FieldSet;
use super::path_element;
use super::version_converter::VersionConverter;
use crate::apimachinery::api_error::ApiError;
use crate::schema::Schema;

/// A write, as the tracking of ownership sees it.
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
    /// Fields this endpoint never changes, such as `status_subresource` for the main resource; nobody comes to
    /// own them here.
    pub reset_fields: &'a FieldSet,
    /// The time to record.
    pub now: Timestamp,
}

/// What server-side apply makes of an object.
#[derive(Debug)]
pub struct ApplyResult {
    /// The object with its new `managedFields`. It still has to be decoded and defaulted.
    pub object: Value,
    /// Whether anything but `managedFields` may differ from the live object.
    pub changed: bool,
}

/// The field manager of a request: the `fieldManager` parameter, or else what comes before the
/// first slash of the user agent, as far as it is printable and short enough.
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

/// A set of whole fields, for [`FieldManager::reset`]: each path is the names from the top.
pub fn reset_fields(paths: &[&[&str]]) -> FieldSet {
    let mut set = FieldSet::default();
    for path in paths {
        let elements: Vec<String> = path.iter().map(|name| path_element::field(name)).collect();
        set.insert(elements.iter().map(String::as_str));
    }
    set
}

/// The object a kind starts from: what Go writes for an empty one, or just the type for custom
/// resources.
pub(crate) fn empty_object(writer: &FieldManager<'_>) -> Value {
    let mut object = crate::schema::decode::zero(writer.schema);
    if writer.schema.is_custom() || !object.is_object() {
        object = Value::Object(serde_json::Map::new());
    }
    object["apiVersion"] = writer.api_version.into();
    object["kind"] = writer.kind.into();
    object
}

/// The object as errors name it: `namespace/name; group/version, Kind=Kind`.
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

/// An error of the server that is no `Status` of its own: code 500 without a reason.
pub(crate) fn untyped_error(text: String) -> ApiError {
    ApiError::new(500, "", text)
}
