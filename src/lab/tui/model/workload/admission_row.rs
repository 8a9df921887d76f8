//! The quota reservation of a Workload.

use std::collections::BTreeMap;

use crate::model::meta::Requests;
use crate::text::sanitize;
use kueue_lab_api::v1beta2::TopologyAssignment;

/// A quota reservation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdmissionRow {
    /// The ClusterQueue.
    pub cluster_queue: String,
    /// The assignment of each pod set.
    pub pod_sets: Vec<PodSetAssignmentRow>,
}

/// The assignment of a pod set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodSetAssignmentRow {
    /// Name of the pod set.
    pub name: String,
    /// Flavor by resource.
    pub flavors: BTreeMap<String, String>,
    /// Resource usage of all its pods.
    pub usage: Requests,
    /// The number of admitted pods.
    pub count: i32,
    /// The topology assignment.
    pub topology_assignment: Option<TopologyAssignmentRow>,
    /// Whether the topology assignment is delayed until nodes are provisioned.
    pub delayed_topology_request: bool,
}

/// A topology assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopologyAssignmentRow {
    /// The levels, from the widest to the narrowest.
    pub levels: Vec<String>,
    /// The first domains, with the number of pods in each.
    pub domains: Vec<(String, i32)>,
    /// The number of domains.
    pub domain_count: usize,
}

/// The most domains kept of an assignment.
const MAX_DOMAINS: usize = 64;

impl TopologyAssignmentRow {
    pub(super) fn of(assignment: &TopologyAssignment) -> Self {
        let all = assignment.decode().unwrap_or_default();
        Self {
            levels: assignment.levels.iter().map(|l| sanitize(l)).collect(),
            domains: all
                .iter()
                .take(MAX_DOMAINS)
                .map(|d| (sanitize(&d.values.join("/")), d.count))
                .collect(),
            domain_count: all.len(),
        }
    }
}
