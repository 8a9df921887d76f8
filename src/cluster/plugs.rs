//! What can be plugged into a cluster that is run here: policy, conversion, kinds and logs.

pub use kueue_lab_apiserver::crd::Paths as ScalePaths;
pub use kueue_lab_apiserver::hooks::{
    Admission, AdmissionRequest, Admitted, Converter, Kubelet, LogRequest, LogStream, Operation,
};
pub use kueue_lab_apiserver::kind::Column;
pub use kueue_lab_apiserver::registry::{DefinedVersion, Definition, Names};
pub use kueue_lab_apiserver::status::ApiError;

/// A custom kind that is there from the start.
pub struct KindPlug {
    /// How it is served.
    pub definition: Definition,
    /// Makes its CustomResourceDefinition by name, when somebody reads it.
    pub object: fn(&str) -> serde_json::Value,
}
