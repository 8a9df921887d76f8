//! Extension points of an embedded cluster: admission, conversion, kinds and logs.

pub use kueue_lab_apiserver::api_error::ApiError;
pub use kueue_lab_apiserver::api_resource::TableColumn;
pub use kueue_lab_apiserver::crd::ScalePaths;
pub use kueue_lab_apiserver::plugins::{
    AdmissionPlugin, AdmissionRequest, AdmissionWarnings, CustomResourceConverter, KubeletClient,
    LogStream, Operation, PodLogRequest,
};
pub use kueue_lab_apiserver::registry::{CrdNames, CrdSpec, CrdSpecVersion};

/// A preinstalled custom resource definition.
pub struct PreinstalledKind {
    /// How it is served.
    pub definition: CrdSpec,
    /// Builds its CustomResourceDefinition by name, on first read.
    pub object: fn(&str) -> serde_json::Value,
}
