//! Jobs of Kubeflow: those of the training operator, and MPIJob.

mod job_conditions;
mod labels;
mod mpi_job;
mod mpi_job_config;
mod run_policy;
mod training_job;
mod training_operator;

use labels::{JOB_NAME, JOB_ROLE, OPERATOR_NAME, REPLICA_INDEX, REPLICA_TYPE};
pub(super) use mpi_job::reconcile as mpi_job;
pub(super) use training_operator::{jax_job, paddle_job, py_torch_job, tf_job, xg_boost_job};
