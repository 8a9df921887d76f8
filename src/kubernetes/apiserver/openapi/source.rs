//! Input of the OpenAPI documents.

use super::custom::CustomSchema;
use kueue_lab_apimachinery::strategy::api_resource::ApiResource;

/// Source of the served kinds and their schemas.
pub(crate) trait OpenApiSource {
    /// Returns the kinds of a group version in discovery order.
    fn kinds(&self, group: &str, version: &str) -> Vec<ApiResource>;

    /// Returns every served group and version.
    fn group_versions(&self) -> Vec<(String, String)>;

    /// Returns the schema of a custom resource version; `None` for built-in kinds.
    fn custom(&self, kind: &ApiResource) -> Option<CustomSchema>;

    /// Returns a string that changes whenever the kinds of a group version change.
    fn fingerprint(&self, group: &str, version: &str) -> String;
}
