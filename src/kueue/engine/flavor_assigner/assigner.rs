//! [`FlavorAssigner`]: assigns flavors to all pod sets of a workload.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::assignment::{
    Assignment, AssignmentStatus, FlavorAssignment, NominationMapping, PodSetAssignment,
};
use super::flavor_attempts::FlavorAssignmentAttempts;
use super::granular_mode::{FlavorAssignmentMode, PreemptionPossibility};
use super::tas_flavor_assigner::pod_set_group_name;
use crate::cache::{FlavorFungibilityConfig, HierarchyNodeId, PreemptionPolicies, ResourceGroup};
use crate::resources::{Amount, FlavorName, FlavorResourceId, Requests, ResourceName};
use crate::snapshot_transaction::SnapshotTransaction;
use crate::topology_assignment::decode;
use crate::workload::{AssignmentClusterQueueState, Info, PodSetResources};

/// Simulates preemptions for the flavor assigner.
pub trait PreemptionOracle {
    /// The result of preempting for `amount` of one flavor resource, and the borrowing level of the
    /// ClusterQueue afterwards.
    fn simulate_preemption(
        &mut self,
        snapshot: &mut SnapshotTransaction<'_>,
        node: HierarchyNodeId,
        wl: &Info,
        fr: FlavorResourceId,
        amount: Amount,
    ) -> (PreemptionPossibility, usize);
}

/// Assigns flavors to all pod sets of a workload in its ClusterQueue.
pub struct FlavorAssigner<'a> {
    /// The workload.
    pub wl: &'a Info,
    /// The node of its ClusterQueue.
    pub node: HierarchyNodeId,
    /// The flavors of an earlier assignment in the same cycle, to which this one is limited.
    pub nomination: Option<&'a NominationMapping>,
    /// The workload slice it replaces.
    pub replaced: Option<&'a Arc<Info>>,
    /// The scheduling cycle.
    pub cycle: i64,
    pub(super) groups: Arc<[ResourceGroup]>,
    pub(super) fungibility: FlavorFungibilityConfig,
    pub(super) preemption: PreemptionPolicies,
    /// Flavors that are treated as deleted.
    pub(super) missing_flavors: Vec<FlavorName>,
}

struct GroupMember<'a> {
    index: usize,
    total: Cow<'a, PodSetResources>,
    assigned: PodSetAssignment,
}

impl<'a> FlavorAssigner<'a> {
    /// An assigner for a workload; none when its ClusterQueue is inactive.
    pub fn new(
        wl: &'a Info,
        node: HierarchyNodeId,
        snapshot: &SnapshotTransaction<'_>,
    ) -> Option<Self> {
        let queue = snapshot.cluster_queue(node)?;
        Some(FlavorAssigner {
            wl,
            node,
            nomination: None,
            replaced: None,
            cycle: 0,
            groups: queue.groups.clone(),
            fungibility: queue.fungibility.clone(),
            preemption: queue.preemption,
            missing_flavors: Vec::new(),
        })
    }

    /// Treats a flavor as deleted.
    pub fn mark_flavor_missing(&mut self, flavor: &str) {
        self.missing_flavors.push(flavor.into());
    }

    pub(super) fn resource_group_for(&self, resource: ResourceName) -> Option<&ResourceGroup> {
        self.groups.iter().find(|g| g.covers(resource))
    }

    /// Assigns flavors, with other pod counts than the workload's if given.
    pub fn assign(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        oracle: &mut dyn PreemptionOracle,
        counts: Option<&[i32]>,
    ) -> Assignment {
        let mut assignment = Assignment {
            last_state: AssignmentClusterQueueState {
                last_tried_flavor_idx: Vec::new(),
                cluster_queue_generation: snapshot.cache.hierarchy.generation(self.node),
                scheduling_cycle: self.cycle,
                scheduling_hash: self.wl.scheduling_hash,
            },
            replaced: self.replaced.cloned(),
            ..Default::default()
        };
        let groups = self.grouped(&mut assignment, snapshot, counts);
        for (index, (_, members)) in groups.into_iter().enumerate() {
            if !self.assign_group(&mut assignment, snapshot, oracle, index, members) {
                self.resolve_no_fit_reason(&mut assignment, snapshot);
                return assignment;
            }
        }
        if assignment.fix_representative_mode() != FlavorAssignmentMode::NoFit
            && snapshot.config.gates.topology_aware_scheduling
        {
            self.assign_topology(&mut assignment, snapshot);
        }
        self.resolve_no_fit_reason(&mut assignment, snapshot);
        assignment
    }

    fn resolve_no_fit_reason(
        &self,
        assignment: &mut Assignment,
        snapshot: &SnapshotTransaction<'_>,
    ) {
        if snapshot.config.gates.unadmitted_workloads_observability
            && let Some(queue) = snapshot.cluster_queue(self.node)
        {
            assignment.resolve_no_fit_reason(queue);
        }
    }

    /// The pod sets by pod set group, in order; without a group each is its own.
    fn grouped(
        &self,
        assignment: &mut Assignment,
        snapshot: &SnapshotTransaction<'_>,
        counts: Option<&[i32]>,
    ) -> Vec<(Cow<'_, str>, Vec<GroupMember<'_>>)> {
        let counts_pods = self.resource_group_for(ResourceName::pods()).is_some();
        let tas = snapshot.config.gates.topology_aware_scheduling;
        let admitted = self.wl.obj.status.admission.as_ref();
        // Few groups: a linear search is as fast as hashing.
        let mut groups: Vec<(Cow<'_, str>, Vec<GroupMember<'_>>)> = Vec::new();
        for (index, total) in self.wl.total_requests.iter().enumerate() {
            let mut total = match counts.and_then(|c| c.get(index)) {
                Some(&count) => Cow::Owned(total.scaled_to(count)),
                None => Cow::Borrowed(total),
            };
            if counts_pods {
                let count = i64::from(total.count);
                total.to_mut().requests.set(ResourceName::pods(), count);
            }
            let mut assigned = PodSetAssignment {
                name: total.name.clone(),
                requests: total.requests.clone(),
                count: total.count,
                ..Default::default()
            };
            if tas {
                // In a second pass the flavors are assigned already.
                for (&resource, flavor) in &total.flavors {
                    assigned.flavors.insert(resource, assignment.flavors.len());
                    assignment.flavors.push(FlavorAssignment {
                        flavor: flavor.clone(),
                        mode: FlavorAssignmentMode::Fit,
                        tried_flavor_idx: 0,
                        borrow: 0,
                    });
                }
                assigned.delayed_topology_request = total.delayed_topology_request;
                if total.topology_request.is_some() {
                    let psa = admitted.and_then(|a| a.pod_set_assignments.get(index));
                    let placed = psa.and_then(|psa| psa.topology_assignment.as_ref());
                    assigned.topology_assignment = placed.map(decode);
                }
            }
            let name = self
                .wl
                .obj
                .spec
                .pod_sets
                .get(index)
                .and_then(pod_set_group_name);
            let name = name.map_or_else(|| Cow::Owned(index.to_string()), Cow::Borrowed);
            let member = GroupMember {
                index,
                total,
                assigned,
            };
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, members)) => members.push(member),
                None => groups.push((name, vec![member])),
            }
        }
        groups
    }

    /// Assigns flavors to a group of pod sets; false when the assignment stops.
    fn assign_group(
        &self,
        assignment: &mut Assignment,
        snapshot: &mut SnapshotTransaction<'_>,
        oracle: &mut dyn PreemptionOracle,
        group: usize,
        members: Vec<GroupMember<'_>>,
    ) -> bool {
        let indices: Vec<usize> = members.iter().map(|m| m.index).collect();
        let mut requests = Requests::new();
        let mut flavors: BTreeMap<ResourceName, usize> = BTreeMap::new();
        for member in &members {
            requests.add(&member.total.requests);
            flavors.extend(member.assigned.flavors.iter().map(|(&r, &i)| (r, i)));
        }
        let mut status = AssignmentStatus::default();
        let mut attempts = FlavorAssignmentAttempts::default();
        let with_reasons = snapshot.config.gates.unadmitted_workloads_observability;
        for (resource, amount) in requests.iter() {
            let undeclared = self.resource_group_for(resource).is_none();
            let ignored = amount == 0 || snapshot.config.ignores_undeclared_resources();
            if (undeclared && ignored) || flavors.contains_key(&resource) {
                continue;
            }
            let found = self.find_flavor_for_pod_sets(
                snapshot,
                oracle,
                &indices,
                &requests,
                resource,
                &assignment.usage,
            );
            attempts.merge(
                found.attempts,
                resource,
                self.resource_group_for(resource),
                with_reasons,
            );
            if found.status.as_ref().is_some_and(|s| s.error.is_some()) || found.flavors.is_empty()
            {
                flavors.clear();
                status = found.status.unwrap_or_default();
                break;
            }
            for (resource, flavor) in found.flavors {
                flavors.insert(resource, assignment.flavors.len());
                assignment.flavors.push(flavor);
            }
            status
                .reasons
                .extend(found.status.into_iter().flat_map(|s| s.reasons));
        }
        assignment.attempts.push(attempts.finish());

        let mut should_try_next_flavor = true;
        let alone = members.len() == 1;
        for member in members {
            let GroupMember {
                index,
                total,
                mut assigned,
            } = member;
            let requested = |resource: &ResourceName| total.requests.contains(*resource);
            if alone && flavors.keys().all(requested) {
                assigned.flavors = std::mem::take(&mut flavors);
                assigned.status = std::mem::take(&mut status);
            } else {
                assigned.flavors =
                    self.resolve_pod_set_flavors(snapshot, index, &total, &flavors, assignment);
                assigned.status = status.clone();
            }
            assigned.group = group;
            let unassigned = !total.requests.is_empty() && assigned.flavors.is_empty();
            should_try_next_flavor &= assigned.status.error.is_none() && !unassigned;
            self.append(assignment, snapshot, &total.requests, assigned);
        }
        should_try_next_flavor
    }

    /// The flavors of one pod set of the group: those of the resources it requests. A pod set
    /// without requests gets the flavors of its group for its topology request.
    fn resolve_pod_set_flavors(
        &self,
        snapshot: &SnapshotTransaction<'_>,
        index: usize,
        total: &PodSetResources,
        flavors: &BTreeMap<ResourceName, usize>,
        assignment: &Assignment,
    ) -> BTreeMap<ResourceName, usize> {
        let keep = |keep: &dyn Fn(ResourceName, usize) -> bool| {
            flavors
                .iter()
                .filter(|(r, i)| keep(**r, **i))
                .map(|(&r, &i)| (r, i))
                .collect()
        };
        if !total.requests.is_empty() {
            return keep(&|resource, _| total.requests.contains(resource));
        }
        if self
            .wl
            .obj
            .spec
            .pod_sets
            .get(index)
            .and_then(pod_set_group_name)
            .is_none()
        {
            return BTreeMap::new();
        }
        keep(&|_, i| {
            snapshot
                .tas_flavor(self.node, &assignment.flavors[i].flavor)
                .is_some()
        })
    }

    /// Appends a pod set with its flavors, and adds its requests beyond those of the replaced slice
    /// to the usage.
    fn append(
        &self,
        assignment: &mut Assignment,
        snapshot: &mut SnapshotTransaction<'_>,
        requests: &Requests,
        assigned: PodSetAssignment,
    ) {
        let mut tried = BTreeMap::new();
        for (&resource, &i) in &assigned.flavors {
            let flavor = &assignment.flavors[i];
            assignment.borrowing = assignment.borrowing.max(flavor.borrow);
            let mut amount = requests.get(resource);
            if snapshot.config.gates.elastic_jobs_via_workload_slices {
                let old = self.replaced.iter().flat_map(|old| &*old.total_requests);
                let old = old.filter(|ps| ps.name == assigned.name).take(1);
                amount = old.fold(amount, |a, ps| a.saturating_sub(ps.requests.get(resource)));
            }
            let fr = snapshot
                .cache
                .hierarchy
                .frs
                .intern(&flavor.flavor, resource);
            assignment.usage.add(fr, Amount::new(amount));
            tried.insert(resource, flavor.tried_flavor_idx);
        }
        assignment.last_state.last_tried_flavor_idx.push(tried);
        assignment.pod_sets.push(assigned);
    }
}
