//! What the documents are made from.

use super::custom::CustomSchema;
use crate::strategy::api_resource::ApiResource;

/// What the documents are about.
pub trait OpenApiSource {
    /// The kinds served under a group and version, in the order of discovery.
    fn kinds(&self, group: &str, version: &str) -> Vec<ApiResource>;

    /// Every served group and version.
    fn group_versions(&self) -> Vec<(String, String)>;

    /// The schema of a custom resource's version; `None` for built-in kinds.
    fn custom(&self, kind: &ApiResource) -> Option<CustomSchema>;

    /// A text that changes whenever the kinds of a group and version do.
    fn fingerprint(&self, group: &str, version: &str) -> String;
}
