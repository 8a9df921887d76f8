//! The controllers of Kueue's own kinds, one file each: they write status, conditions and
//! finalizers from the state of the engine.

mod active_condition;
mod admission_check_controller;
mod cluster_queue_controller;
mod cohort_controller;
mod local_queue_controller;
mod resource_flavor_controller;
mod resource_in_use_finalizer;
mod start_controllers;
mod topology_controller;
pub(crate) mod workload;
mod workload_priority_class_controller;

pub(crate) use start_controllers::start;
