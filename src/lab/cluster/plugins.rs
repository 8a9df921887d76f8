//! Extension points of an embedded cluster: admission, conversion, kinds and the kubelets.

pub use kueue_lab_apimachinery::api_error::ApiError;
pub use kueue_lab_apimachinery::status_reason::StatusReason;
pub use kueue_lab_apimachinery::strategy::scale_paths::ScalePaths;
pub use kueue_lab_apimachinery::strategy::table_column::TableColumn;
pub use kueue_lab_apiserver::PreinstalledKind;
pub use kueue_lab_apiserver::plugins::{
    AdmissionPlugin, AdmissionRequest, AdmissionWarnings, AggregatedApi, AggregatedRequest,
    AggregatedResource, ContainerReference, CustomResourceConverter, DialError, ExecCommand,
    KubeletClient, LogStream, Operation, PodConnection, PodLogRequest, PodReference, PortForwarder,
    RemoteCommand, StartError, StreamOptions,
};
pub use kueue_lab_apiserver::registry::{CrdNames, CrdSpec, CrdSpecVersion, SchemaSource};
