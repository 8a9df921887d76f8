//! Stand-ins for the operators of job kinds, for a cluster without them: KubeRay, JobSet, the
//! Kubeflow training operator, MPI operator and trainer, LeaderWorkerSet, AppWrapper and the Spark
//! operator; and for operators whose pods Kueue queues without an integration of their kind: KServe,
//! Kubeflow Notebooks, Tekton, Argo Workflows and agent-sandbox. Each creates the child objects of its kind, deletes them on suspend and reports the
//! status that users and Kueue read. Networking, autoscaling and storage of the kinds are
//! not simulated; a spec that needs them gets a Warning Event.

pub mod crds;
pub mod webhooks;

mod app_wrapper;
mod argo;
mod child_objects;
mod conditions;
mod group_restart_policy;
mod group_rolling_update;
mod group_state;
mod ignored_fields;
mod inference_service;
mod job_set;
mod job_status;
mod kubeflow;
mod leader_worker_set;
mod notebook;
mod observed;
mod operator_controller;
mod ray;
mod reconcile_plan;
mod registry;
mod sandbox;
mod spark_application;
mod substitution;
mod suspended_job;
mod tekton;
mod train_job;

#[cfg(test)]
mod count_tests;

pub use operator_controller::start;
