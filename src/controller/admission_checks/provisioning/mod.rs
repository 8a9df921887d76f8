//! The provisioning check: asks a node autoscaler for the capacity of a Workload with a
//! ProvisioningRequest, and judges the check by what becomes of it.

mod admission_check_reconciler;
mod controller;
mod provisioning_request;
mod sync_check_states;
mod sync_provisioning_requests;

pub(super) use controller::start;
