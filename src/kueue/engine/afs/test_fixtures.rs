//! Configuration and usage for tests of admission fair sharing.

use std::time::Duration;

use crate::config::AdmissionFairSharing;
use crate::kube::pod_requests::ExactList;
use crate::resources::{Decimal, ResourceName};

/// A half-life in seconds, and a sampling interval of five minutes.
pub(super) fn config(half_life: u64) -> AdmissionFairSharing {
    AdmissionFairSharing {
        usage_half_life: Duration::from_secs(half_life),
        usage_sampling_interval: Duration::from_secs(300),
        ..Default::default()
    }
}

/// Usage of CPU only.
pub(super) fn cpu(cores: &str) -> ExactList {
    [(ResourceName::cpu(), Decimal::parse(cores).unwrap())].into()
}
