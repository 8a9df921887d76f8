//! The controllers of a real cluster's controller manager: jobs and other workloads, garbage
//! collection, namespaces, accounts. Must not know nodes, scheduler or kubelet stand-in.

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
