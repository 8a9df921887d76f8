//! The node autoscaler stand-in: answers ProvisioningRequests by what fits on the nodes, and makes
//! pools larger that may grow. Must not know what the requests are for.

mod capacity;
mod conditions;
mod provisioning_request_controller;

pub use provisioning_request_controller::{Autoscaler, QUEUED_PROVISIONING, start};
