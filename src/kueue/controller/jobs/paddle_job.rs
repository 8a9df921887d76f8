//! The PaddleJob integration (`kubeflow.org/v1`).

use super::kubeflow_job::{KubeflowJobControl, KubeflowJobKind};

/// The properties of PaddleJobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PaddleJob;

impl KubeflowJobControl for PaddleJob {
    const KIND: &'static str = "PaddleJob";
    const RESOURCE: &'static str = "paddlejobs";
    const FRAMEWORK: &'static str = "kubeflow.org/paddlejob";
    const REPLICA_SPECS_FIELD_NAME: &'static str = "paddleReplicaSpecs";
    const ORDERED_REPLICA_TYPES: &'static [&'static str] = &["Master", "Worker"];
}

/// The PaddleJob integration.
pub(crate) type PaddleJobKind = KubeflowJobKind<PaddleJob>;
