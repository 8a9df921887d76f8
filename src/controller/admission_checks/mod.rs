//! Admission checks of controllers in this crate. The states of all other checks are written by the
//! controllers named in the AdmissionCheck.

mod provisioning;

pub(crate) use provisioning::start;
