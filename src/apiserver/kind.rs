//! What the server knows of one served kind: its names for discovery, and its behaviour.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::field::FieldError;
use super::schema::Schema;

/// One kind in one served version.
#[derive(Clone)]
pub struct Kind {
    /// API group, empty for core.
    pub group: Arc<str>,
    /// Version, such as `v1`.
    pub version: Arc<str>,
    /// Kind, such as `Pod`.
    pub kind: Arc<str>,
    /// Kind of a list of these, such as `PodList`.
    pub list_kind: Arc<str>,
    /// Resource name in paths, such as `pods`.
    pub plural: Arc<str>,
    /// Singular name, such as `pod`.
    pub singular: Arc<str>,
    /// Short names, such as `po`.
    pub short_names: Vec<String>,
    /// Categories, such as `all`.
    pub categories: Vec<String>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Verbs discovery names; a request with another verb is a 405.
    pub verbs: Vec<&'static str>,
    /// Subresources besides none: `status`, `scale`, `log`, `binding`, `eviction`.
    pub subresources: Vec<&'static str>,
    /// The version objects of this kind are stored in.
    pub storage_version: Arc<str>,
    /// The structural schema of this version; `None` for kinds that are never stored.
    pub schema: Option<Arc<Schema>>,
    /// How objects of this kind are prepared, defaulted, validated and printed.
    pub behaviour: Arc<dyn Behaviour>,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kind({}/{} {})", self.group, self.version, self.kind)
    }
}

/// One column of a `Table` answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Header, such as `Name`.
    pub name: String,
    /// `string`, `integer`, `boolean`, `date`, `number`.
    pub kind: &'static str,
    /// `name` for the name column, else empty.
    pub format: &'static str,
    /// What the column shows.
    pub description: String,
    /// 0 is always shown, 1 only with `-o wide`.
    pub priority: i32,
}

/// What is particular to a kind. Every method has the answer of a plain object as its default.
///
/// Objects arrive decoded, with unknown fields handled and structural defaults applied; metadata
/// (uid, generation, resourceVersion, managedFields) is the server's own business.
pub trait Behaviour: Send + Sync {
    /// Fills defaults that a schema cannot express.
    fn default(&self, _object: &mut Value) {}

    /// Clears or sets what a client may not choose at creation; the status is already removed when
    /// the kind has a status subresource.
    fn prepare_create(&self, _object: &mut Value) {}

    /// Keeps what an update may not change. The server has already restored `status` (or everything
    /// but status, for the status subresource).
    fn prepare_update(&self, _new: &mut Value, _old: &Value) {}

    /// Field errors of a new object.
    fn validate_create(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Field errors of a change through the main resource.
    fn validate_update(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Field errors of a change through the status subresource.
    fn validate_status(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Warnings for the client of a create or update.
    fn warnings(&self, _new: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// Columns of the `Table` form.
    fn columns(&self) -> Vec<Column>;

    /// Cells of one object, in the order of [`Behaviour::columns`]; `now` is for ages.
    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value>;

    /// The value of a field selector's field, or `None` when this kind does not support the field.
    /// `metadata.name` and `metadata.namespace` are handled by the server.
    fn field(&self, _object: &Value, _path: &str) -> Option<String> {
        None
    }
}
