//! The kinds of Kubeflow's training operator (`kubeflow.org/v1`) as a table.

use super::kubeflow_job::{KubeflowJobControl, KubeflowJobKind};

macro_rules! training_operator_jobs {
    ($($name:ident, $kind_name:ident, $kind:literal, $resource:literal, $framework:literal, $replica_specs:literal, $replica_types:expr;)*) => {$(
        #[doc = concat!("The properties of ", $kind, "s.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct $name;

        impl KubeflowJobControl for $name {
            const KIND: &'static str = $kind;
            const RESOURCE: &'static str = $resource;
            const FRAMEWORK: &'static str = $framework;
            const REPLICA_SPECS_FIELD_NAME: &'static str = $replica_specs;
            const ORDERED_REPLICA_TYPES: &'static [&'static str] = &$replica_types;
        }

        #[doc = concat!("The ", $kind, " integration.")]
        pub(crate) type $kind_name = KubeflowJobKind<$name>;
    )*};
}

training_operator_jobs! {
    JaxJob, JaxJobKind, "JAXJob", "jaxjobs", "kubeflow.org/jaxjob", "jaxReplicaSpecs", ["Worker"];
    PaddleJob, PaddleJobKind, "PaddleJob", "paddlejobs", "kubeflow.org/paddlejob", "paddleReplicaSpecs", ["Master", "Worker"];
    PyTorchJob, PyTorchJobKind, "PyTorchJob", "pytorchjobs", "kubeflow.org/pytorchjob", "pytorchReplicaSpecs", ["Master", "Worker"];
    TfJob, TfJobKind, "TFJob", "tfjobs", "kubeflow.org/tfjob", "tfReplicaSpecs", ["Chief", "Master", "PS", "Worker", "Evaluator"];
    XgBoostJob, XgBoostJobKind, "XGBoostJob", "xgboostjobs", "kubeflow.org/xgboostjob", "xgbReplicaSpecs", ["Master", "Worker"];
}
