//! Requests and results of topology assignment.
//!
//! Must not depend on how assignments are computed.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Serialize;

use crate::resources::{FlavorName, Requests};
use crate::topology_assignment::TopologyAssignment;
use kueue_lab_api::v1beta2 as api;
use kueue_lab_reason::TasFailure;

/// The topology request of one pod set in one flavor.
#[derive(Clone, Debug)]
pub struct TasPodSetRequests<'a> {
    /// The pod set.
    pub pod_set: &'a api::PodSet,
    /// The pod set updates of Ready admission checks.
    pub pod_set_updates: Vec<&'a api::PodSetUpdate>,
    /// The requests of one pod.
    pub single_pod_requests: Requests,
    /// The number of pods.
    pub count: i32,
    /// The flavor.
    pub flavor: FlavorName,
    /// Whether TAS is implied: the pod set has no topology request, and its ClusterQueue has TAS
    /// flavors only.
    pub implied: bool,
    /// The pod set group: leader and workers are placed together.
    pub pod_set_group_name: Option<&'a str>,
    /// The topology assignment of the replaced workload slice.
    pub previous_assignment: Option<&'a api::TopologyAssignment>,
}

impl TasPodSetRequests<'_> {
    /// The requests of all pods.
    pub fn total_requests(&self) -> Requests {
        self.single_pod_requests.scaled_up(i64::from(self.count))
    }
}

/// The topology requests of one Workload, by flavor.
pub type WorkloadTasRequests<'a> = BTreeMap<FlavorName, Vec<TasPodSetRequests<'a>>>;

/// Options of the search.
#[derive(Clone, Copy, Debug, Default)]
pub struct FindOptions<'a> {
    /// Ignore the usage of workloads, to find out whether preemption could help.
    pub simulate_empty: bool,
    /// The Workload; its unhealthy nodes are replaced.
    pub workload: Option<&'a api::Workload>,
}

/// The result of one pod set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TasPodSetResult {
    /// The topology assignment, if found.
    pub topology_assignment: Option<TopologyAssignment>,
    /// The failure, if there is none.
    pub failure: Option<TasFailure>,
    /// The flavor.
    pub flavor: FlavorName,
}

/// The results for the pod sets of a Workload, by name in request order. Ends with the first
/// failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TasAssignmentsResult(pub IndexMap<String, TasPodSetResult>);

impl TasAssignmentsResult {
    /// The first pod set without assignment, with the reason.
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
