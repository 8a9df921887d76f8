//! The provisioning admission check: requests capacity from a node autoscaler with a
//! ProvisioningRequest and sets the check state from the conditions of the request.

mod admission_check_reconciler;
mod controller;
mod provisioning_request;
mod sync_check_states;
mod sync_provisioning_requests;

pub(crate) use controller::start;
