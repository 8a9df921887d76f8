//! The job framework and the integrations: constructs Workloads from jobs, starts jobs on admission
//! and stops them on eviction.
//!
//! The generic reconciler ([`reconciler`]) uses jobs through [`generic_job::GenericJob`]. An
//! integration whose job is a single object implements [`generic_job::JobKind`] in one file, and
//! [`single_object_job::SingleObjectJob`] adapts it; pods and pod groups implement `GenericJob`
//! themselves.

pub(crate) mod ancestor_job;
mod app_wrapper;
mod app_wrapper_pod_sets;
pub(crate) mod batch_job;
mod child_job_set;
mod child_ray_cluster;
mod construct_workload;
mod elastic_job_ungater;
mod ensure_one_workload;
pub(crate) mod error;
mod evicted_workload;
pub(crate) mod generic_job;
mod generic_reconciler;
mod go_pod_template;
pub(crate) mod go_struct;
pub(crate) mod integration_callbacks;
pub(crate) mod integration_context;
pub mod integration_manager;
mod job_management;
pub(crate) mod job_set;
mod kubeflow_job;
mod kubeflow_job_spec;
pub(crate) mod leader_worker_set;
mod leader_worker_set_pods;
pub(crate) mod leader_worker_set_spec;
mod metadata_to_copy;
mod mpi_job;
pub(crate) mod multikueue;
mod patching;
pub(crate) mod pod_set_info;
mod pod_set_infos;
mod pod_set_topology_request;
pub(crate) mod pod_sets;
pub(crate) mod pod_sets_error;
mod pods;
mod pods_ready;
pub(crate) mod ray_cluster;
pub(crate) mod ray_cluster_spec;
mod ray_cluster_validation;
pub(crate) mod ray_job;
pub(crate) mod ray_service;
mod recent_quota_losses;
mod reconciler;
pub(crate) mod role_hash;
mod setup;
pub(crate) mod single_object_job;
mod slice_topology_constraints;
mod spark_application;
mod spark_pod_template;
pub(crate) mod stateful_set;
mod stateful_set_pod_reconciler;
mod strategic_merge_patch;
mod train_job;
mod train_job_spec;
mod training_operator_jobs;
mod training_runtime;
pub mod webhooks;
pub mod workload_names;
mod workload_priority;
mod workload_slicing;

pub(crate) use patching::create_merge_patch;
pub(crate) use setup::start;
