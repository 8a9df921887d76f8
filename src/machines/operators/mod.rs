//! Stand-ins for the operators of job kinds, for a cluster without them: KubeRay, JobSet, the
//! Kubeflow training operator, MPI operator and trainer, LeaderWorkerSet, AppWrapper and the Spark
//! operator. Each creates the child objects of its kind, deletes them on suspend and reports the
//! status that users and Kueue read. Networking, autoscaling, rolling updates and storage of the
//! kinds are not simulated; a spec that needs them gets a Warning Event.

pub mod crds;

mod app_wrapper;
mod child_objects;
mod conditions;
mod job_set;
mod job_status;
mod kubeflow;
mod leader_worker_set;
mod observed;
mod operator_controller;
mod plan;
mod ray;
mod registry;
mod spark_application;
mod suspended_job;
mod train_job;

pub(crate) use operator_controller::start;
