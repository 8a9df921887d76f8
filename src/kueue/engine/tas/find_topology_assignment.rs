//! Finds topology assignments in one flavor, by pod set group.
//!
//! Must not depend on quota.

use super::assumed_usage::{AssumedUsage, with_pods};
use super::fill_in_counts::PodRequirements;
use super::node_filter::NodeFilter;
use super::node_replacement::is_owned_by_single_pod;
use super::placement::Placement;
use super::pod_set_requests::{FindOptions, TasAssignmentsResult, TasPodSetRequests};
use super::resolved_topology_request::ResolvedTopologyRequest;
use super::tas_flavor_snapshot::TasFlavorSnapshot;
use super::topology_tree::Domain;
use crate::topology_assignment::{TopologyAssignment, decode};
use kueue_lab_api::v1beta2::{PodSetAssignment, PodSetTopologyRequest, Workload};
use kueue_lab_reason::TasFailure;

/// The assignments of workers and leader.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GroupTopologyAssignment {
    pub(super) workers: TopologyAssignment,
    pub(super) leader: Option<TopologyAssignment>,
}

/// The parameters of one search.
pub(super) struct TopologyAssignmentSearch<'r, 'a> {
    pub(super) workers: &'r TasPodSetRequests<'a>,
    pub(super) leader: Option<&'r TasPodSetRequests<'a>>,
    /// The number of workers.
    pub(super) count: i32,
    /// The topology request of the workers.
    pub(super) topology_request: Option<&'r PodSetTopologyRequest>,
    /// The required domain, if any.
    pub(super) within: Option<Domain>,
    pub(super) simulate_empty: bool,
}

impl<'r, 'a> TopologyAssignmentSearch<'r, 'a> {
    /// A search for workers and leader, if any.
    pub(super) fn of(
        workers: &'r TasPodSetRequests<'a>,
        leader: Option<&'r TasPodSetRequests<'a>>,
        simulate_empty: bool,
    ) -> Self {
        TopologyAssignmentSearch {
            workers,
            leader,
            count: workers.count,
            topology_request: workers.pod_set.topology_request.as_ref(),
            within: None,
            simulate_empty,
        }
    }
}

/// Pod sets by group, in order. Without a group each is its own.
fn groups<'r, 'a>(requests: &'r [TasPodSetRequests<'a>]) -> Vec<Vec<&'r TasPodSetRequests<'a>>> {
    let mut groups: Vec<(Option<&str>, Vec<&TasPodSetRequests<'a>>)> = Vec::new();
    for request in requests {
        let name = request.pod_set_group_name;
        match groups
            .iter_mut()
            .find(|(n, _)| name.is_some() && *n == name)
        {
            Some((_, group)) => group.push(request),
            None => groups.push((name, vec![request])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The workers and the leader of a group: the leader is the smaller pod set.
fn find_leader_and_workers<'r, 'a>(
    group: &[&'r TasPodSetRequests<'a>],
) -> (&'r TasPodSetRequests<'a>, Option<&'r TasPodSetRequests<'a>>) {
    match *group {
        [first, second, ..] if second.count > first.count => (second, Some(first)),
        [first, second, ..] => (first, Some(second)),
        _ => (group[0], None),
    }
}

impl TasFlavorSnapshot {
    /// Topology assignments for the pod sets of one Workload with this flavor.
    pub fn find_topology_assignments(
        &mut self,
        requests: &[TasPodSetRequests<'_>],
        options: FindOptions<'_>,
    ) -> TasAssignmentsResult {
        self.find_topology_assignments_for_flavor(requests, options, &mut AssumedUsage::default())
    }

    /// Like [`TasFlavorSnapshot::find_topology_assignments`], with the usage that other flavors
    /// assumed on common nodes.
    pub(super) fn find_topology_assignments_for_flavor(
        &mut self,
        requests: &[TasPodSetRequests<'_>],
        options: FindOptions<'_>,
        assumed: &mut AssumedUsage,
    ) -> TasAssignmentsResult {
        let mut result = TasAssignmentsResult::default();
        let to_repair = options
            .workload
            .filter(|wl| !wl.status.unhealthy_nodes.is_empty());
        for group in groups(requests) {
            let done = match to_repair {
                Some(workload) => {
                    self.replace_unhealthy_node_in_group(&group, workload, assumed, &mut result)
                }
                None => self.place_pod_set_group(&group, options, assumed, &mut result),
            };
            if !done {
                break;
            }
        }
        for found in result.0.values_mut() {
            found.flavor = self.flavor.clone();
        }
        result
    }

    /// Places a group; false on failure.
    fn place_pod_set_group(
        &mut self,
        group: &[&TasPodSetRequests<'_>],
        options: FindOptions<'_>,
        assumed: &mut AssumedUsage,
        result: &mut TasAssignmentsResult,
    ) -> bool {
        let (workers, leader) = find_leader_and_workers(group);
        if self.gates.elastic {
            let elastic = self.handle_elastic_workload(
                workers,
                leader,
                options.simulate_empty,
                assumed,
                result,
            );
            if let Some(done) = elastic {
                return done;
            }
        }
        let search = TopologyAssignmentSearch::of(workers, leader, options.simulate_empty);
        match self.find_topology_assignment(&search, assumed) {
            Err(failure) => {
                for request in group {
                    result.failed(&request.pod_set.name, failure.clone());
                }
                false
            }
            Ok(assignments) => {
                let leader_name = leader.map(|l| &l.pod_set.name);
                for request in group {
                    let name = &request.pod_set.name;
                    let assignments = if *name == workers.pod_set.name {
                        Some(&assignments.workers)
                    } else {
                        assignments
                            .leader
                            .as_ref()
                            .filter(|_| Some(name) == leader_name)
                    };
                    if let Some(assignments) = assignments {
                        assumed.add(assignments, &request.single_pod_requests);
                    }
                    result.found(name, assignments.cloned());
                }
                true
            }
        }
    }

    /// Replaces the failed node in the pod sets of a group; false on failure.
    fn replace_unhealthy_node_in_group(
        &mut self,
        group: &[&TasPodSetRequests<'_>],
        workload: &Workload,
        assumed: &mut AssumedUsage,
        result: &mut TasAssignmentsResult,
    ) -> bool {
        for request in group {
            let name = &request.pod_set.name;
            let Some(existing) = find_pod_set_assignment(workload, name)
                .and_then(|psa| psa.topology_assignment.as_ref())
            else {
                continue;
            };
            if self.gates.skip_pod_owned && is_owned_by_single_pod(workload) {
                // The pod cannot be rescheduled, and the Workload ends with it.
                result.found(name, Some(decode(existing)));
                continue;
            }
            match self.find_replacement_assignment(request, decode(existing), workload, assumed) {
                Ok((whole, replacement)) => {
                    assumed.add(&replacement, &request.single_pod_requests);
                    result.found(name, Some(whole));
                }
                Err(failure) => {
                    result.failed(name, failure);
                    return false;
                }
            }
        }
        true
    }

    /// One search: fills in the counts, selects domains, descends to the leaves.
    pub(super) fn find_topology_assignment(
        &mut self,
        search: &TopologyAssignmentSearch<'_, '_>,
        assumed: &AssumedUsage,
    ) -> Result<GroupTopologyAssignment, TasFailure> {
        let (workers, leader) = (search.workers, search.leader);
        let filter = NodeFilter::new(
            workers,
            &self.tolerations,
            self.tree.lowest_is_node(),
            self.gates.affinity_preferred,
        );
        // Errors of admission check updates are reported first, selector errors after the levels
        // are validated.
        if let Err(failure @ TasFailure::InvalidPodSetUpdate { .. }) = filter {
            return Err(failure);
        }
        let resolved = ResolvedTopologyRequest::resolve(
            &self.tree,
            search.topology_request,
            workers.implied,
            search.count,
            i32::from(leader.is_some()),
        )?;
        let matches = self.matches(&filter?);
        let worker = with_pods(&workers.single_pod_requests, 1);
        let leader_requests = leader.map(|l| with_pods(&l.single_pod_requests, 1));
        let mut placement = Placement {
            tree: &self.tree,
            gates: self.gates,
            topology_request: &resolved,
            states: std::mem::take(&mut self.states_buffer),
        };
        let exclusions = placement.fill_in_counts(
            &matches,
            &PodRequirements {
                capacity: &self.capacity,
                simulate_empty: search.simulate_empty,
                assumed,
                within: search.within,
                worker: &worker,
                leader: leader_requests.as_ref(),
            },
        );
        let balanced = (self.gates.balanced && !resolved.required && !resolved.unconstrained)
            .then(|| placement.find_balanced_placement())
            .flatten();
        let is_balanced = balanced.is_some();
        let selected = match balanced {
            Some(selected) => Ok(selected),
            None => placement.find_level_with_fit_domains(
                &self.topology,
                resolved.requested_level,
                &exclusions,
            ),
        };
        let assignments = selected.map(|selected| {
            let leaves = placement.assign_lower_levels(selected, is_balanced);
            GroupTopologyAssignment {
                workers: placement.build_assignment(&leaves, |s| s.pods),
                leader: leader.map(|_| placement.build_assignment(&leaves, |s| s.leaders)),
            }
        });
        self.states_buffer = placement.states;
        assignments
    }
}

/// The admitted assignment of a pod set.
fn find_pod_set_assignment<'a>(workload: &'a Workload, name: &str) -> Option<&'a PodSetAssignment> {
    let admission = workload.status.admission.as_ref()?;
    admission
        .pod_set_assignments
        .iter()
        .find(|psa| psa.name == name)
}
