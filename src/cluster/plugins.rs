//! Extension points of an embedded cluster: admission, conversion, kinds and the kubelets.

pub use kueue_lab_apimachinery::api_error::ApiError;
pub use kueue_lab_apimachinery::strategy::scale_paths::ScalePaths;
pub use kueue_lab_apimachinery::strategy::table_column::TableColumn;
pub use kueue_lab_apiserver::plugins::{
    AdmissionPlugin, AdmissionRequest, AdmissionWarnings, AggregatedApi, AggregatedRequest,
    AggregatedResource, ContainerReference, CustomResourceConverter, ExecCommand, KubeletClient,
    LogStream, Operation, PodConnection, PodLogRequest, PodReference, PortForwarder, RemoteCommand,
    StartError, StreamOptions,
};
pub use kueue_lab_apiserver::registry::{CrdNames, CrdSpec, CrdSpecVersion, SchemaSource};

/// Builds a CustomResourceDefinition by name.
pub type DefinitionBuilder = Box<dyn Fn(&str) -> serde_json::Value + Send + Sync>;

/// A preinstalled custom resource definition.
pub struct PreinstalledKind {
    /// How it is served.
    pub definition: CrdSpec,
    /// Builds its CustomResourceDefinition by name, on first read.
    pub object: DefinitionBuilder,
    /// Whether a definition that is created or applied later replaces it.
    pub replaceable: bool,
}
