//! Labels that the training operator sets on pods.

/// Label: the job of a pod.
pub(super) const JOB_NAME: &str = "training.kubeflow.org/job-name";
/// Label: the operator of a pod.
pub(super) const OPERATOR_NAME: &str = "training.kubeflow.org/operator-name";
/// Label: the replica type of a pod in lower case.
pub(super) const REPLICA_TYPE: &str = "training.kubeflow.org/replica-type";
/// Label: the index of a pod in its replica type.
pub(super) const REPLICA_INDEX: &str = "training.kubeflow.org/replica-index";
/// Label: the role of a pod.
pub(super) const JOB_ROLE: &str = "training.kubeflow.org/job-role";
