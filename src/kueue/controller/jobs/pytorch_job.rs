//! The PyTorchJob integration (`kubeflow.org/v1`).

use super::kubeflow_job::{KubeflowJobControl, KubeflowJobKind};

/// The properties of PyTorchJobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PyTorchJob;

impl KubeflowJobControl for PyTorchJob {
    const KIND: &'static str = "PyTorchJob";
    const RESOURCE: &'static str = "pytorchjobs";
    const FRAMEWORK: &'static str = "kubeflow.org/pytorchjob";
    const REPLICA_SPECS_FIELD_NAME: &'static str = "pytorchReplicaSpecs";
    const ORDERED_REPLICA_TYPES: &'static [&'static str] = &["Master", "Worker"];
}

/// The PyTorchJob integration.
pub(crate) type PyTorchJobKind = KubeflowJobKind<PyTorchJob>;
