//! [`VersionConverter`]: conversion of objects between the API versions of field managers.

use std::sync::Arc;

use serde_json::Value;

use crate::schema::Schema;

/// Converts objects to the versions in which field managers have written, `merge.Converter`.
pub trait VersionConverter {
    /// The object in the given `group/version` with the schema of that version; `None` if the
    /// version is no longer served.
    fn convert(&self, object: &Value, api_version: &str) -> Option<(Value, Arc<Schema>)>;
}

/// A kind with one version.
pub struct SingleVersion;

impl VersionConverter for SingleVersion {
    fn convert(&self, _object: &Value, _api_version: &str) -> Option<(Value, Arc<Schema>)> {
        None
    }
}
