//! The kinds of the training operator, each as a [`TrainingJob`].

use super::super::observed::Observed;
use super::super::reconcile_plan::ReconcilePlan;
use super::training_job::{self, TrainingJob};

/// Reconciles a PyTorchJob.
pub(in super::super) fn py_torch_job(job: &Observed<'_>) -> ReconcilePlan {
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
pub(in super::super) fn tf_job(job: &Observed<'_>) -> ReconcilePlan {
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
pub(in super::super) fn xg_boost_job(job: &Observed<'_>) -> ReconcilePlan {
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
pub(in super::super) fn paddle_job(job: &Observed<'_>) -> ReconcilePlan {
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
pub(in super::super) fn jax_job(job: &Observed<'_>) -> ReconcilePlan {
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
