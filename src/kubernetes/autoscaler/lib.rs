//! The simulated cluster autoscaler: provisions ProvisioningRequests on the existing nodes or by
//! scaling up pools, and removes added nodes that are unneeded. Must not depend on Kueue's use of the requests.

mod capacity;
mod conditions;
mod provisioning_request_controller;
mod scale_down;

pub use provisioning_request_controller::{Autoscaler, start};

pub(crate) use provisioning_request_controller::QUEUED_PROVISIONING;
