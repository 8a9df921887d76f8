//! The simulated cluster autoscaler: provisions ProvisioningRequests on the existing nodes or by
//! scaling up pools. Must not depend on Kueue's use of the requests.

mod capacity;
mod conditions;
mod provisioning_request_controller;

pub(crate) use provisioning_request_controller::{Autoscaler, QUEUED_PROVISIONING, start};
