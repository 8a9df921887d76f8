//! Recovery from node failures: pods that are stuck in termination on unreachable nodes.

mod pod_termination_controller;

pub(super) use pod_termination_controller::start;
