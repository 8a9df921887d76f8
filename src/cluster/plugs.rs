//! What can be plugged into a cluster that is run here: policy, conversion, kinds and logs.

pub use crate::apiserver::crd::Paths as ScalePaths;
pub use crate::apiserver::hooks::{
    Admission, AdmissionRequest, Admitted, Converter, Kubelet, LogRequest, LogStream, Operation,
};
pub use crate::apiserver::kind::Column;
pub use crate::apiserver::registry::{DefinedVersion, Definition, Names};
pub use crate::apiserver::status::ApiError;
