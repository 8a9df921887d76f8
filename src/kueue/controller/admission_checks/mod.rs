//! Admission checks of controllers in this crate. The states of all other checks are written by the
//! controllers named in the AdmissionCheck.

mod active_condition;
mod multikueue;
mod parameters_reference;
mod provisioning;
mod start;

pub use multikueue::{KubeconfigError, validate_kubeconfig};
pub(crate) use start::start;
