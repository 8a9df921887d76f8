//! [`Assigner`]: finds flavors for all pod sets of a workload.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::assignment::{
    Assignment, FlavorAssignment, NominationMapping, PodSetAssignment, Status,
};
use super::attempts::Attempts;
use super::mode::{Mode, Possibility};
use super::topology::group_name;
use crate::cache::{Fungibility, NodeId, Preemption, ResourceGroup};
use crate::queue::QuotaReservedReason;
use crate::resources::{Amount, FlavorName, FrId, Requests, ResourceName};
use crate::snapshot::Snapshot;
use crate::tas::FindOptions;
use crate::topology::decode;
use crate::workload::{AssignmentState, Info, PodSetResources};

/// Tells whether preemption could make room.
pub trait PreemptionOracle {
    /// What preempting for `amount` of one pair would come to, and how far away the ClusterQueue
    /// would borrow then.
    fn simulate(
        &mut self,
        snapshot: &mut Snapshot<'_>,
        node: NodeId,
        wl: &Info,
        fr: FrId,
        amount: Amount,
    ) -> (Possibility, usize);
}

/// Finds flavors for all pod sets of a workload in its ClusterQueue.
pub struct Assigner<'a> {
    /// The workload.
    pub wl: &'a Info,
    /// Its ClusterQueue.
    pub node: NodeId,
    /// The flavors to hold on to, when flavors were assigned before in the same cycle.
    pub nomination: Option<&'a NominationMapping>,
    /// The workload slice it replaces.
    pub replaced: Option<&'a Arc<Info>>,
    /// The scheduling cycle.
    pub cycle: i64,
    pub(super) groups: Arc<[ResourceGroup]>,
    pub(super) fungibility: Fungibility,
    pub(super) preemption: Preemption,
    /// Flavors taken for gone.
    pub(super) forgotten: Vec<FlavorName>,
}

struct GroupMember<'a> {
    index: usize,
    total: Cow<'a, PodSetResources>,
    assigned: PodSetAssignment,
}

impl<'a> Assigner<'a> {
    /// An assigner for a workload; none when its ClusterQueue takes no part in the cycle.
    pub fn new(wl: &'a Info, node: NodeId, snapshot: &Snapshot<'_>) -> Option<Self> {
        let queue = snapshot.queue(node)?;
        Some(Assigner {
            wl,
            node,
            nomination: None,
            replaced: None,
            cycle: 0,
            groups: queue.groups.clone(),
            fungibility: queue.fungibility.clone(),
            preemption: queue.preemption,
            forgotten: Vec::new(),
        })
    }

    /// Takes a flavor for gone.
    pub fn forget_flavor(&mut self, flavor: &str) {
        self.forgotten.push(flavor.into());
    }

    pub(super) fn group_of(&self, resource: ResourceName) -> Option<&ResourceGroup> {
        self.groups.iter().find(|g| g.covers(resource))
    }

    /// Finds flavors, for other counts of pods than the workload asks for if given.
    pub fn assign(
        &self,
        snapshot: &mut Snapshot<'_>,
        oracle: &mut dyn PreemptionOracle,
        counts: Option<&[i32]>,
    ) -> Assignment {
        let mut assignment = Assignment {
            last_state: AssignmentState {
                last_tried_flavor_idx: Vec::new(),
                cluster_queue_generation: snapshot.cache.forest[self.node].generation,
                scheduling_cycle: self.cycle,
                scheduling_hash: self.wl.scheduling_hash,
            },
            replaced: self.replaced.cloned(),
            ..Default::default()
        };
        let groups = self.grouped(&mut assignment, snapshot, counts);
        for (index, (_, members)) in groups.into_iter().enumerate() {
            if !self.assign_group(&mut assignment, snapshot, oracle, index, members) {
                self.resolve(&mut assignment, snapshot);
                return assignment;
            }
        }
        if assignment.settle_mode() != Mode::NoFit
            && snapshot.config.gates.topology_aware_scheduling
        {
            self.place(&mut assignment, snapshot);
        }
        self.resolve(&mut assignment, snapshot);
        assignment
    }

    fn resolve(&self, assignment: &mut Assignment, snapshot: &Snapshot<'_>) {
        if snapshot.config.gates.unadmitted_workloads_observability
            && let Some(queue) = snapshot.queue(self.node)
        {
            assignment.resolve_no_fit_reason(queue);
        }
    }

    /// The pod sets by the group they name, those without one each by itself, in order.
    fn grouped(
        &self,
        assignment: &mut Assignment,
        snapshot: &Snapshot<'_>,
        counts: Option<&[i32]>,
    ) -> Vec<(Cow<'_, str>, Vec<GroupMember<'_>>)> {
        let counts_pods = self.group_of(ResourceName::pods()).is_some();
        let tas = snapshot.config.gates.topology_aware_scheduling;
        let admitted = self.wl.obj.status.admission.as_ref();
        // A handful: walking them is as fast as hashing.
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
                // In a second pass the flavors stand already.
                for (&resource, flavor) in &total.flavors {
                    assigned.flavors.insert(resource, assignment.flavors.len());
                    assignment.flavors.push(FlavorAssignment {
                        flavor: flavor.clone(),
                        mode: Mode::Fit,
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
            let name = self.wl.obj.spec.pod_sets.get(index).and_then(group_name);
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

    /// Finds flavors for a group of pod sets; false when the search is to stop.
    fn assign_group(
        &self,
        assignment: &mut Assignment,
        snapshot: &mut Snapshot<'_>,
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
        let mut status = Status::default();
        let mut attempts = Attempts::default();
        let with_reasons = snapshot.config.gates.unadmitted_workloads_observability;
        for (resource, amount) in requests.iter() {
            let undeclared = self.group_of(resource).is_none();
            let ignored = amount == 0 || snapshot.config.ignores_undeclared_resources();
            if (undeclared && ignored) || flavors.contains_key(&resource) {
                continue;
            }
            let found = self.find_flavor(
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
                self.group_of(resource),
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

        let mut go_on = true;
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
                assigned.flavors = self.own_flavors(snapshot, index, &total, &flavors, assignment);
                assigned.status = status.clone();
            }
            assigned.group = group;
            let unserved = !total.requests.is_empty() && assigned.flavors.is_empty();
            go_on &= assigned.status.error.is_none() && !unserved;
            self.append(assignment, snapshot, &total.requests, assigned);
        }
        go_on
    }

    /// The flavors of the group that are one pod set's own: those of the resources it requests. A
    /// pod set that requests nothing is placed with its group all the same.
    fn own_flavors(
        &self,
        snapshot: &Snapshot<'_>,
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
            .and_then(group_name)
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

    /// Adds a pod set with its flavors, charging what it requests beyond the slice it replaces.
    fn append(
        &self,
        assignment: &mut Assignment,
        snapshot: &mut Snapshot<'_>,
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
            let fr = snapshot.cache.forest.frs.intern(&flavor.flavor, resource);
            assignment.usage.add(fr, Amount::new(amount));
            tried.insert(resource, flavor.tried_flavor_idx);
        }
        assignment.last_state.last_tried_flavor_idx.push(tried);
        assignment.pod_sets.push(assigned);
    }

    /// Looks for places in the topologies of the flavors assigned.
    fn place(&self, assignment: &mut Assignment, snapshot: &mut Snapshot<'_>) {
        let replaced = self.replaced.map(|r| &**r);
        let requests = assignment.topology_requests(self.wl, replaced, snapshot, self.node);
        let options = FindOptions {
            simulate_empty: false,
            workload: Some(&self.wl.obj),
        };
        if assignment.settle_mode() == Mode::Fit {
            let result = snapshot.find_topology_assignments(&requests, options);
            let failure = result
                .failure()
                .map(|(ps, why, _)| (ps.to_owned(), why.to_string()));
            match failure {
                Some((pod_set, reason)) => {
                    if let Some(at) = assignment.position(&pod_set) {
                        assignment.pod_sets[at].status.reasons.push(reason.into());
                    }
                    assignment.update_mode(&pod_set, Mode::Preempt);
                }
                None => assignment.update_for_tas_result(result, self.wl, snapshot, self.node),
            }
        }
        // Nobody is preempted for a failed node.
        if assignment.settle_mode() == Mode::Preempt
            && self.wl.obj.status.unhealthy_nodes.is_empty()
        {
            let empty = FindOptions {
                simulate_empty: true,
                ..options
            };
            let result = snapshot.find_topology_assignments(&requests, empty);
            let failure = result
                .failure()
                .map(|(ps, _, flavor)| (ps.to_owned(), flavor.clone()));
            match failure {
                Some((pod_set, flavor)) => {
                    // It would not fit if everybody went.
                    if snapshot.config.gates.unadmitted_workloads_observability {
                        self.mark_attempt(assignment, &pod_set, &flavor);
                    }
                    assignment.update_mode(&pod_set, Mode::NoFit);
                }
                // Quota may suffice where the topology is fragmented.
                None => assignment.update_mode_for_requests(&requests, Mode::Preempt),
            }
        }
    }

    fn mark_attempt(&self, assignment: &mut Assignment, pod_set: &str, flavor: &FlavorName) {
        let Some(at) = assignment.position(pod_set) else {
            return;
        };
        let group = assignment.pod_sets[at].group;
        let attempts = assignment.attempts.get_mut(group).into_iter().flatten();
        if let Some(attempt) = attempts.into_iter().find(|a| a.flavor == *flavor) {
            attempt.mode = Mode::NoFit;
            attempt.no_fit_reason = Some(QuotaReservedReason::TopologyPlacementFailed);
        }
    }
}
