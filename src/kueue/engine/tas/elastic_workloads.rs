//! Elastic workloads: a replacement slice keeps the domains of the replaced one and places only the
//! additional pods.
//!
//! Must not depend on how slices are detected; see [`TasPodSetRequests::previous_assignment`].

use super::assignment_encoding::{count_pods, truncate};
use super::assumed_usage::AssumedUsage;
use super::find_topology_assignment::TopologyAssignmentSearch;
use super::pod_set_requests::{TasAssignmentsResult, TasPodSetRequests};
use super::tas_flavor_snapshot::TasFlavorSnapshot;
use crate::topology_assignment::{TopologyAssignment, decode};

impl TasFlavorSnapshot {
    /// Places workers and leader based on their previous assignment. None when they are placed from
    /// scratch: there is no previous assignment, or a domain of it is stale. Otherwise whether it
    /// succeeded.
    pub(super) fn handle_elastic_workload(
        &mut self,
        workers: &TasPodSetRequests<'_>,
        leader: Option<&TasPodSetRequests<'_>>,
        simulate_empty: bool,
        assumed: &mut AssumedUsage,
        result: &mut TasAssignmentsResult,
    ) -> Option<bool> {
        let previous = decode(workers.previous_assignment?);
        let leader_previous = leader.and_then(|l| l.previous_assignment).map(decode);
        let stale = |a: &TopologyAssignment| self.stale_domain(a).is_some();
        if stale(&previous) || leader_previous.as_ref().is_some_and(stale) {
            return None;
        }
        let before = count_pods(&previous);
        if workers.count > before {
            let more = workers.count - before;
            return Some(self.handle_scale_up(
                ScaleUp {
                    workers,
                    leader,
                    previous: &previous,
                    leader_previous,
                    more,
                    simulate_empty,
                },
                assumed,
                result,
            ));
        }
        if leader.is_some() && leader_previous.is_none() {
            // The workers would be placed without their leader.
            return None;
        }
        let kept = if workers.count < before {
            truncate(&previous, workers.count)
        } else {
            previous
        };
        assumed.add(&kept, &workers.single_pod_requests);
        result.found(&workers.pod_set.name, Some(kept));
        if let (Some(leader), Some(assignments)) = (leader, leader_previous) {
            assumed.add(&assignments, &leader.single_pod_requests);
            result.found(&leader.pod_set.name, Some(assignments));
        }
        Some(true)
    }

    fn handle_scale_up(
        &mut self,
        scale_up: ScaleUp<'_, '_>,
        assumed: &mut AssumedUsage,
        result: &mut TasAssignmentsResult,
    ) -> bool {
        let ScaleUp {
            workers, leader, ..
        } = scale_up;
        assumed.add(scale_up.previous, &workers.single_pod_requests);
        if let (Some(leader), Some(assignments)) = (leader, &scale_up.leader_previous) {
            assumed.add(assignments, &leader.single_pod_requests);
        }
        let new_leader = leader.filter(|_| scale_up.leader_previous.is_none());
        let search = TopologyAssignmentSearch {
            count: scale_up.more,
            ..TopologyAssignmentSearch::of(workers, new_leader, scale_up.simulate_empty)
        };
        let assignments = match self.find_topology_assignment(&search, assumed) {
            Ok(assignments) => assignments,
            Err(failure) => {
                result.failed(&workers.pod_set.name, failure);
                return false;
            }
        };
        let whole = self.merge_assignments(&assignments.workers, scale_up.previous);
        result.found(&workers.pod_set.name, Some(whole));
        if let Some(leader) = leader {
            if let Some(new) = &assignments.leader {
                assumed.add(new, &leader.single_pod_requests);
            }
            let at = scale_up.leader_previous.or(assignments.leader);
            result.found(&leader.pod_set.name, at);
        }
        assumed.add(&assignments.workers, &workers.single_pod_requests);
        true
    }
}

/// A pod set that scales up.
struct ScaleUp<'r, 'a> {
    workers: &'r TasPodSetRequests<'a>,
    leader: Option<&'r TasPodSetRequests<'a>>,
    previous: &'r TopologyAssignment,
    leader_previous: Option<TopologyAssignment>,
    more: i32,
    simulate_empty: bool,
}
