//! Who owns which field: `managedFields` tracking of every write, and server-side apply.
//!
//! Knows objects and schemas only; the caller decodes, defaults and stores.

mod apply;
mod atom;
pub mod compare;
pub mod field_set;
mod last_applied;
mod managed_fields;
mod merge;
mod path_element;
mod typed_value;
mod update;
mod validate;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::schema::Schema;
use crate::apimachinery::api_error::ApiError;
use field_set::FieldSet;

pub use apply::apply;
pub(crate) use managed_fields::restore_invalid_managed_fields;
pub use update::{ignore_managed_fields_timestamps, update};

/// The other versions of a kind, for managers that wrote in one of them.
pub trait VersionConverter {
    /// The object in the given `group/version` with the schema of that version; `None` when it is
    /// not served any more.
    fn convert(&self, object: &Value, api_version: &str) -> Option<(Value, Arc<Schema>)>;
}

/// A kind with one version.
pub struct SingleVersion;

impl VersionConverter for SingleVersion {
    fn convert(&self, _object: &Value, _api_version: &str) -> Option<(Value, Arc<Schema>)> {
        None
    }
}

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

/// Fields of the object's identity, which nobody owns.
fn strip_meta(set: &mut FieldSet) {
    let paths: [&[&str]; 11] = [
        &["f:apiVersion"],
        &["f:kind"],
        &["f:metadata"],
        &["f:metadata", "f:name"],
        &["f:metadata", "f:namespace"],
        &["f:metadata", "f:creationTimestamp"],
        &["f:metadata", "f:selfLink"],
        &["f:metadata", "f:uid"],
        &["f:metadata", "f:generation"],
        &["f:metadata", "f:managedFields"],
        &["f:metadata", "f:resourceVersion"],
    ];
    let mut identity = FieldSet::default();
    for path in paths {
        identity.insert(path.iter().copied());
    }
    set.subtract(&identity);
}

/// The object a kind starts from: what Go writes for an empty one, or just the type for custom
/// resources.
fn empty_object(writer: &FieldManager<'_>) -> Value {
    let mut object = super::schema::decode::zero(writer.schema);
    if writer.schema.is_custom() || !object.is_object() {
        object = Value::Object(serde_json::Map::new());
    }
    object["apiVersion"] = writer.api_version.into();
    object["kind"] = writer.kind.into();
    object
}

/// The object as errors name it: `namespace/name; group/version, Kind=Kind`.
fn object_description(writer: &FieldManager<'_>, object: &Value) -> String {
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
fn untyped_error(text: String) -> ApiError {
    ApiError::new(500, "", text)
}

#[cfg(test)]
mod tests;
