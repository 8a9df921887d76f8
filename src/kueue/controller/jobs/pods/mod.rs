//! The pod integration: plain pods and pod groups.
//!
//! A running pod cannot be suspended; it is stopped by deletion. A finalizer keeps terminated pods
//! until they are accounted for.

mod pod_controller;
mod pod_group;
mod pod_job;
mod pod_state;
mod start_stop;
mod waiting_for_replacement_pods;

pub(super) use pod_controller::{FRAMEWORK, start};
pub(crate) use pod_group::PodGroupError;
