//! The XGBoostJob integration (`kubeflow.org/v1`).

use super::kubeflow_job::{KubeflowJobControl, KubeflowJobKind};

/// The properties of XGBoostJobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct XgBoostJob;

impl KubeflowJobControl for XgBoostJob {
    const KIND: &'static str = "XGBoostJob";
    const RESOURCE: &'static str = "xgboostjobs";
    const FRAMEWORK: &'static str = "kubeflow.org/xgboostjob";
    const REPLICA_SPECS_FIELD_NAME: &'static str = "xgbReplicaSpecs";
    const ORDERED_REPLICA_TYPES: &'static [&'static str] = &["Master", "Worker"];
}

/// The XGBoostJob integration.
pub(crate) type XgBoostJobKind = KubeflowJobKind<XgBoostJob>;
