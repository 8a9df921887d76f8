//! The JAXJob integration (`kubeflow.org/v1`).

use super::kubeflow_job::{KubeflowJobControl, KubeflowJobKind};

/// The properties of JAXJobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JaxJob;

impl KubeflowJobControl for JaxJob {
    const KIND: &'static str = "JAXJob";
    const RESOURCE: &'static str = "jaxjobs";
    const FRAMEWORK: &'static str = "kubeflow.org/jaxjob";
    const REPLICA_SPECS_FIELD_NAME: &'static str = "jaxReplicaSpecs";
    const ORDERED_REPLICA_TYPES: &'static [&'static str] = &["Worker"];
}

/// The JAXJob integration.
pub(crate) type JaxJobKind = KubeflowJobKind<JaxJob>;
