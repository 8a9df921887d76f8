//! The workload controllers of kube-controller-manager: Job, CronJob and `apps/v1`. Must not depend
//! on nodes or the kubelet; of the scheduler only node affinity and tolerations are used.

pub mod apps;
pub mod controller_ref_manager;
pub mod cronjob;
pub mod job;
pub mod pod_control;
pub mod pod_template;
pub mod pods;
mod shared_informers;
mod start_controllers;
pub mod ttl_after_finished;

pub use shared_informers::{SharedInformers, pod_informer};
pub use start_controllers::start;
