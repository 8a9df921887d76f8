//! What is asked of placement and what comes back.
//!
//! Must not know how places are found.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Serialize;

use super::failure::TasFailure;
use crate::resources::{FlavorName, Requests};
use crate::topology_assignment::TopologyAssignment;
use kueue_lab_api::v1beta2 as api;

/// The pods of one pod set that are to be placed in the topology of a flavor.
#[derive(Clone, Debug)]
pub struct TasPodSetRequests<'a> {
    /// The pod set.
    pub pod_set: &'a api::PodSet,
    /// What Ready admission checks add to its pods.
    pub pod_set_updates: Vec<&'a api::PodSetUpdate>,
    /// What one pod requests of its node.
    pub single_pod_requests: Requests,
    /// How many pods are to be placed.
    pub count: i32,
    /// The flavor they are to be placed in.
    pub flavor: FlavorName,
    /// Whether the pod set does not ask for placement itself: its ClusterQueue has only flavors
    /// with a topology.
    pub implied: bool,
    /// Pod sets with the same group name are placed together, leader and workers.
    pub pod_set_group_name: Option<&'a str>,
    /// Where the workload slice that this one replaces has its pods.
    pub previous_assignment: Option<&'a api::TopologyAssignment>,
}

impl TasPodSetRequests<'_> {
    /// What all the pods request together.
    pub fn total_requests(&self) -> Requests {
        self.single_pod_requests.scaled_up(i64::from(self.count))
    }
}

/// The pod sets of one Workload that are to be placed, by flavor.
pub type WorkloadTasRequests<'a> = BTreeMap<FlavorName, Vec<TasPodSetRequests<'a>>>;

/// Circumstances of a search for places.
#[derive(Clone, Copy, Debug, Default)]
pub struct FindOptions<'a> {
    /// Look as if no workload had been placed yet: could preemption help at all?
    pub simulate_empty: bool,
    /// The Workload; when it has failed nodes, they are replaced within its assignment.
    pub workload: Option<&'a api::Workload>,
}

/// What was found for one pod set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TasPodSetResult {
    /// The places, if found.
    pub topology_assignment: Option<TopologyAssignment>,
    /// Why there are none.
    pub failure: Option<TasFailure>,
    /// The flavor looked at.
    pub flavor: FlavorName,
}

/// What was found for the pod sets of a Workload, by name and in the order they were asked for.
/// After the first failure the rest is not looked at and not listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TasAssignmentsResult(pub IndexMap<String, TasPodSetResult>);

impl TasAssignmentsResult {
    /// The first pod set without a place, and why.
    pub fn failure(&self) -> Option<(&str, &TasFailure, &FlavorName)> {
        self.0.iter().find_map(|(name, result)| {
            let failure = result.failure.as_ref()?;
            Some((name.as_str(), failure, &result.flavor))
        })
    }

    pub(super) fn found(&mut self, pod_set: &str, assignment: Option<TopologyAssignment>) {
        let result = TasPodSetResult {
            topology_assignment: assignment,
            ..Default::default()
        };
        self.0.insert(pod_set.to_owned(), result);
    }

    pub(super) fn failed(&mut self, pod_set: &str, failure: TasFailure) {
        let result = TasPodSetResult {
            failure: Some(failure),
            ..Default::default()
        };
        self.0.insert(pod_set.to_owned(), result);
    }
}
