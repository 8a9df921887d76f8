//! [`Usage`]: the quota and topology domains that a Workload uses.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::resources::{FlavorName, FlavorResourceQuantities, Requests};

/// Usage of quota and topology domains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Quota usage.
    pub quota: FlavorResourceQuantities,
    /// Usage of topology domains.
    pub tas: TasUsage,
}

/// The pods of one pod set in one topology domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopologyDomainRequests {
    /// The value of the domain on each level, from the highest level to the lowest.
    pub values: Vec<String>,
    /// The requests of one pod.
    pub single_pod_requests: Requests,
    /// The number of pods.
    pub count: i32,
}

impl TopologyDomainRequests {
    /// The requests of all pods.
    pub fn total_requests(&self) -> Requests {
        self.single_pod_requests.scaled_up(i64::from(self.count))
    }
}

/// Usage of topology domains by flavor.
pub type TasUsage = BTreeMap<FlavorName, Vec<TopologyDomainRequests>>;
