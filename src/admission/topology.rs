//! Usage of topology domains: what the engine hands to and takes from topology-aware scheduling.
//!
//! Must not know how placement works.

use std::collections::BTreeMap;

use serde::Serialize;

use super::resources::{FlavorName, Requests};

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
