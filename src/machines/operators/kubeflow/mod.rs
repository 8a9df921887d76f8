//! Jobs of Kubeflow: those of the training operator, and MPIJob.

mod job_conditions;
mod mpi_job;
mod run_policy;
mod training_job;

use super::observed::Observed;
use super::plan::Plan;
use training_job::TrainingJob;

pub(super) use mpi_job::reconcile as mpi_job;

/// Label: the job of a pod.
const JOB_NAME: &str = "training.kubeflow.org/job-name";
/// Label: the operator of a pod.
const OPERATOR_NAME: &str = "training.kubeflow.org/operator-name";
/// Label: the replica type of a pod in lower case.
const REPLICA_TYPE: &str = "training.kubeflow.org/replica-type";
/// Label: the index of a pod in its replica type.
const REPLICA_INDEX: &str = "training.kubeflow.org/replica-index";
/// Label: the role of a pod.
const JOB_ROLE: &str = "training.kubeflow.org/job-role";

/// Reconciles a PyTorchJob.
pub(super) fn py_torch_job(job: &Observed<'_>) -> Plan {
    let kind = TrainingJob {
        kind: "PyTorchJob",
        operator: "pytorchjob-controller",
        specs: "pytorchReplicaSpecs",
        replica_types: &["Master", "Worker"],
        leaders: &["Master"],
        restart_policy: "OnFailure",
        environment: training_job::py_torch_environment,
    };
    training_job::reconcile(&kind, job)
}

/// Reconciles a TFJob.
pub(super) fn tf_job(job: &Observed<'_>) -> Plan {
    let kind = TrainingJob {
        kind: "TFJob",
        operator: "tfjob-controller",
        specs: "tfReplicaSpecs",
        replica_types: &["Chief", "Master", "PS", "Worker", "Evaluator"],
        leaders: &["Chief", "Master"],
        restart_policy: "Never",
        environment: training_job::no_environment,
    };
    training_job::reconcile(&kind, job)
}

/// Reconciles an XGBoostJob.
pub(super) fn xg_boost_job(job: &Observed<'_>) -> Plan {
    let kind = TrainingJob {
        kind: "XGBoostJob",
        operator: "xgboostjob-controller",
        specs: "xgbReplicaSpecs",
        replica_types: &["Master", "Worker"],
        leaders: &["Master"],
        restart_policy: "Never",
        environment: training_job::py_torch_environment,
    };
    training_job::reconcile(&kind, job)
}

/// Reconciles a PaddleJob.
pub(super) fn paddle_job(job: &Observed<'_>) -> Plan {
    let kind = TrainingJob {
        kind: "PaddleJob",
        operator: "paddlejob-controller",
        specs: "paddleReplicaSpecs",
        replica_types: &["Master", "Worker"],
        leaders: &["Master"],
        restart_policy: "OnFailure",
        environment: training_job::no_environment,
    };
    training_job::reconcile(&kind, job)
}

/// Reconciles a JAXJob.
pub(super) fn jax_job(job: &Observed<'_>) -> Plan {
    let kind = TrainingJob {
        kind: "JAXJob",
        operator: "jaxjob-controller",
        specs: "jaxReplicaSpecs",
        replica_types: &["Worker"],
        leaders: &[],
        restart_policy: "OnFailure",
        environment: training_job::no_environment,
    };
    training_job::reconcile(&kind, job)
}
