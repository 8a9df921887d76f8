//! What can be plugged into a cluster that is run here: policy, conversion, kinds and logs.

pub use kueue_lab_apiserver::apimachinery::api_error::ApiError;
pub use kueue_lab_apiserver::plugins::{
    AdmissionPlugin, AdmissionRequest, AdmissionWarnings, CustomResourceConverter, KubeletClient,
    LogStream, Operation, PodLogRequest,
};
pub use kueue_lab_apiserver::registry::{CrdNames, CrdSpec, CrdSpecVersion};
pub use kueue_lab_apiserver::strategy::scale_paths::ScalePaths;
pub use kueue_lab_apiserver::strategy::table_column::TableColumn;

/// A custom kind that is there from the start.
pub struct PreinstalledKind {
    /// How it is served.
    pub definition: CrdSpec,
    /// Makes its CustomResourceDefinition by name, when somebody reads it.
    pub object: fn(&str) -> serde_json::Value,
}
