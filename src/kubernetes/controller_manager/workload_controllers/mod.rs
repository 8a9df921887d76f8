//! The workload controllers of kube-controller-manager: Job, CronJob and `apps/v1`. Must not depend
//! on nodes or the kubelet; of the scheduler only node affinity and tolerations are used.

pub(crate) mod apps;
pub(crate) mod controller_ref_manager;
pub(crate) mod cronjob;
pub mod job;
pub(crate) mod pod_control;
pub(crate) mod pod_template;
mod shared_informers;
mod start_controllers;
pub(crate) mod ttl_after_finished;

pub use shared_informers::{SharedInformers, pod_informer};
pub(crate) use start_controllers::start;
