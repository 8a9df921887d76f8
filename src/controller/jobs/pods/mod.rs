//! Pods that are jobs of their own, and groups of pods that are admitted together.
//!
//! A pod cannot be suspended once it runs: to stop it is to delete it. It is held by a finalizer so
//! that it is still there to be counted when it has ended.

mod expectations;
mod pod_controller;
mod pod_group;
mod pod_job;
mod pod_state;
mod start_stop;
mod waiting_for_replacement_pods;

pub(super) use pod_controller::start;
pub(super) use pod_state::{is_terminated, ungate};
