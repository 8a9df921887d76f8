//! [`Usage`]: the quota and topology domains that a Workload uses.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::resources::{FlavorName, FlavorResourceQuantities, Requests};

/// Quota and topology domains a workload takes up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Quota.
    pub quota: FlavorResourceQuantities,
    /// Topology domains.
    pub tas: TasUsage,
}

/// Pods of one pod set on one topology domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopologyDomainRequests {
    /// The domain: its value on each level of the assignment, from the highest level down.
    pub values: Vec<String>,
    /// What one pod requests.
    pub single_pod_requests: Requests,
    /// How many pods.
    pub count: i32,
}

impl TopologyDomainRequests {
    /// What all these pods request.
    pub fn total_requests(&self) -> Requests {
        self.single_pod_requests.scaled_up(i64::from(self.count))
    }
}

/// Usage of topology domains by flavor.
pub type TasUsage = BTreeMap<FlavorName, Vec<TopologyDomainRequests>>;
