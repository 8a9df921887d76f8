//! Conversion of objects for managers of other versions.

use std::sync::Arc;

use serde_json::Value;

use crate::schema::Schema;

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
