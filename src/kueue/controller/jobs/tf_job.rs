//! The TFJob integration (`kubeflow.org/v1`).

use super::kubeflow_job::{KubeflowJobControl, KubeflowJobKind};

/// The properties of TFJobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TfJob;

impl KubeflowJobControl for TfJob {
    const KIND: &'static str = "TFJob";
    const RESOURCE: &'static str = "tfjobs";
    const FRAMEWORK: &'static str = "kubeflow.org/tfjob";
    const REPLICA_SPECS_FIELD_NAME: &'static str = "tfReplicaSpecs";
    const ORDERED_REPLICA_TYPES: &'static [&'static str] =
        &["Chief", "Master", "PS", "Worker", "Evaluator"];
}

/// The TFJob integration.
pub(crate) type TfJobKind = KubeflowJobKind<TfJob>;
