//! Topology-aware scheduling of a flavor assignment: whether a flavor supports a pod set, topology
//! requests, topology assignments and their usage.
//!
//! Must not depend on how topology assignments are computed.

use std::collections::BTreeMap;

use super::assigner::FlavorAssigner;
use super::assignment::{Assignment, TopologyFailure};
use super::granular_mode::FlavorAssignmentMode;
use crate::cache::{ClusterQueue, HierarchyNodeId, ResourceGroup};
use crate::kube::pod_requests::pod_template_requests;
use crate::queue::QuotaReservedReason;
use crate::resources::FlavorName;
use crate::snapshot_transaction::SnapshotTransaction;
use crate::tas::{FindOptions, TasAssignmentsResult, TasPodSetRequests, WorkloadTasRequests};
use crate::topology_assignment::decode;
use crate::workload::{Info, TasUsage, TopologyDomainRequests, predicates};
use kueue_lab_api::v1beta2::{
    Admission, CheckState, DelayedTopologyRequestState, PodSet, ResourceFlavor, TopologyAssignment,
};
use kueue_lab_reason::{AssignmentError, FlavorReason};

/// Whether topology-aware scheduling is implied, because the ClusterQueue has TAS flavors only.
pub(crate) fn is_tas_implied(ps: &PodSet, queue: &ClusterQueue) -> bool {
    !predicates::is_explicitly_requesting_tas(ps) && queue.is_tas_only()
}

/// Whether topology-aware scheduling is requested or implied.
pub(crate) fn is_tas_requested(ps: &PodSet, queue: &ClusterQueue) -> bool {
    predicates::is_explicitly_requesting_tas(ps) || is_tas_implied(ps, queue)
}

/// The reason that a flavor does not support the topology request of a pod set.
pub(super) fn check_pod_set_and_flavor_match_for_tas(
    snapshot: &SnapshotTransaction<'_>,
    node: HierarchyNodeId,
    ps: &PodSet,
    flavor: &ResourceFlavor,
    group: &ResourceGroup,
) -> Option<FlavorReason> {
    let queue = snapshot.cluster_queue(node)?;
    let name = flavor.metadata.name.as_deref().unwrap_or_default();
    let of_flavor = || FlavorName::from(name);
    if !is_tas_requested(ps, queue) {
        let has_topology = flavor.spec.topology_name.is_some();
        return has_topology.then(|| FlavorReason::OnlyTopologyAwareScheduling {
            flavor: of_flavor(),
        });
    }
    if is_tas_implied(ps, queue) {
        return None;
    }
    if flavor.spec.topology_name.is_none() {
        // A flavor for quota only, of resources that the pods do not request.
        let requests = pod_template_requests(&ps.template);
        let provides = requests.iter().any(|(resource, _)| group.covers(resource));
        return provides.then(|| FlavorReason::NoTopologyAwareScheduling {
            flavor: of_flavor(),
        });
    }
    match snapshot.tas_flavor(node, name) {
        None => Some(FlavorReason::NotInTasCache {
            flavor: of_flavor(),
        }),
        Some(topology) if !topology.has_level(ps.topology_request.as_ref()) => {
            Some(FlavorReason::NoRequestedLevel {
                flavor: of_flavor(),
            })
        }
        Some(_) => None,
    }
}

impl FlavorAssigner<'_> {
    /// Finds topology assignments in the assigned flavors.
    pub(super) fn assign_topology(
        &self,
        assignment: &mut Assignment,
        snapshot: &mut SnapshotTransaction<'_>,
    ) {
        let replaced = self.replaced.map(|r| &**r);
        let requests =
            assignment.workload_topology_requests(self.wl, replaced, snapshot, self.node);
        let options = FindOptions {
            simulate_empty: false,
            workload: Some(&self.wl.obj),
        };
        if assignment.fix_representative_mode() == FlavorAssignmentMode::Fit {
            let result = snapshot.find_topology_assignments(&requests, options);
            let failure = result
                .failure()
                .map(|(ps, failure, _)| (ps.to_owned(), failure.clone()));
            match failure {
                Some((pod_set, failure)) => {
                    if let Some(at) = assignment.position(&pod_set) {
                        let reason = FlavorReason::NoTopologyAssignment { failure };
                        assignment.pod_sets[at].status.reasons.push(reason);
                    }
                    assignment.update_mode(&pod_set, FlavorAssignmentMode::Preempt);
                }
                None => assignment.update_for_tas_result(result, self.wl, snapshot, self.node),
            }
        }
        // Nothing is preempted to replace a failed node.
        if assignment.fix_representative_mode() == FlavorAssignmentMode::Preempt
            && self.wl.obj.status.unhealthy_nodes.is_empty()
        {
            let empty = FindOptions {
                simulate_empty: true,
                ..options
            };
            let result = snapshot.find_topology_assignments(&requests, empty);
            let failure = result
                .failure()
                .map(|(ps, failure, flavor)| (ps.to_owned(), failure.clone(), flavor.clone()));
            match failure {
                Some((pod_set, failure, flavor)) => {
                    // It would not fit in an empty cluster.
                    assignment.topology_failure = Some(TopologyFailure {
                        pod_set: pod_set.clone(),
                        flavor: flavor.clone(),
                        reason: failure,
                    });
                    if snapshot.config.gates.unadmitted_workloads_observability {
                        self.mark_attempt(assignment, &pod_set, &flavor);
                    }
                    assignment.update_mode(&pod_set, FlavorAssignmentMode::NoFit);
                }
                // The quota may suffice while the topology is fragmented.
                None => {
                    assignment.update_mode_for_requests(&requests, FlavorAssignmentMode::Preempt)
                }
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
            attempt.mode = FlavorAssignmentMode::NoFit;
            attempt.no_fit_reason = Some(QuotaReservedReason::TopologyPlacementFailed);
        }
    }
}

impl Assignment {
    /// The topology requests of a workload. A pod set whose request is invalid gets an error.
    pub fn workload_topology_requests<'w>(
        &mut self,
        wl: &'w Info,
        replaced: Option<&'w Info>,
        snapshot: &SnapshotTransaction<'_>,
        node: HierarchyNodeId,
    ) -> WorkloadTasRequests<'w> {
        let mut requests = WorkloadTasRequests::new();
        let gates = &snapshot.config.gates;
        let Some(queue) = snapshot.cluster_queue(node) else {
            return requests;
        };
        for ps in wl
            .obj
            .spec
            .pod_sets
            .iter()
            .filter(|ps| is_tas_requested(ps, queue))
        {
            let Some(at) = self.position(&ps.name) else {
                continue;
            };
            let assigned = &self.pod_sets[at];
            if assigned.status.error.is_some() || assigned.count == 0 {
                continue;
            }
            if assigned.topology_assignment.is_some() && !self.has_unhealthy_node(at, wl) {
                // It has a topology assignment without unhealthy nodes.
                continue;
            }
            let mut previous = None;
            if gates.elastic_jobs_via_workload_slices_with_tas
                && predicates::is_elastic(&wl.obj, gates)
            {
                let request = ps.topology_request.as_ref();
                if request.is_some_and(|r| r.required.is_some()) {
                    self.set_error(at, AssignmentError::ElasticRequired);
                    continue;
                }
                if request.is_some_and(|r| r.preferred.is_some()) {
                    self.set_error(at, AssignmentError::ElasticPreferred);
                    continue;
                }
                previous = replaced.and_then(|old| previous_assignment(old, &ps.name));
            }
            match self.pod_set_request(at, wl, ps, snapshot, node, previous) {
                Ok(Some(request)) => {
                    requests
                        .entry(request.flavor.clone())
                        .or_default()
                        .push(request);
                }
                Ok(None) => {
                    self.pod_sets[at].delayed_topology_request =
                        Some(DelayedTopologyRequestState::Pending);
                }
                Err(error) => self.set_error(at, error),
            }
        }
        requests
    }

    fn has_unhealthy_node(&self, at: usize, wl: &Info) -> bool {
        let domains = self.pod_sets[at]
            .topology_assignment
            .iter()
            .flat_map(|ta| &ta.domains);
        !wl.obj.status.unhealthy_nodes.is_empty()
            && domains
                .filter_map(|d| d.values.last())
                .any(|value| predicates::has_unhealthy_node(&wl.obj, value))
    }

    /// The topology request of a pod set; none when it is delayed.
    fn pod_set_request<'w>(
        &self,
        at: usize,
        wl: &'w Info,
        ps: &'w PodSet,
        snapshot: &SnapshotTransaction<'_>,
        node: HierarchyNodeId,
        previous_assignment: Option<&'w TopologyAssignment>,
    ) -> Result<Option<TasPodSetRequests<'w>>, AssignmentError> {
        if !snapshot.has_tas_flavors(node) {
            return Err(AssignmentError::NoTasCacheInformation);
        }
        let flavor = self.only_tas_flavor(at, snapshot, node)?;
        if let Some(queue) = snapshot.cluster_queue(node) {
            // Worker clusters assign the topology themselves; capacity to be provisioned has no
            // nodes yet.
            let first_pass = !predicates::has_quota_reservation(&wl.obj);
            if queue.has_multi_kueue_check()
                || (first_pass && queue.has_provisioning_check(&flavor))
            {
                return Ok(None);
            }
        }
        let ready = wl
            .obj
            .status
            .admission_checks
            .iter()
            .filter(|c| c.state == CheckState::Ready);
        Ok(Some(TasPodSetRequests {
            pod_set: ps,
            pod_set_updates: ready
                .flat_map(|c| &c.pod_set_updates)
                .filter(|u| u.name == ps.name)
                .collect(),
            single_pod_requests: pod_template_requests(&ps.template),
            count: self.pod_sets[at].count,
            flavor,
            implied: snapshot
                .cluster_queue(node)
                .is_some_and(|q| is_tas_implied(ps, q)),
            pod_set_group_name: pod_set_group_name(ps),
            previous_assignment,
        }))
    }

    /// The only assigned TAS flavor of a pod set.
    fn only_tas_flavor(
        &self,
        at: usize,
        snapshot: &SnapshotTransaction<'_>,
        node: HierarchyNodeId,
    ) -> Result<FlavorName, AssignmentError> {
        let flavors = self.flavors_of(&self.pod_sets[at]).map(|(_, f)| &f.flavor);
        let found = snapshot.tas_flavors_among(node, flavors);
        match found.as_slice() {
            [] => Err(AssignmentError::NoTasFlavorAssigned),
            [one] => Ok(one.clone()),
            many => Err(AssignmentError::MultipleTasFlavors {
                flavors: many.to_vec(),
            }),
        }
    }

    /// Records topology assignments.
    pub(crate) fn update_for_tas_result(
        &mut self,
        result: TasAssignmentsResult,
        wl: &Info,
        snapshot: &SnapshotTransaction<'_>,
        node: HierarchyNodeId,
    ) {
        for (name, found) in result.0 {
            let Some(at) = self.position(&name) else {
                continue;
            };
            let ps = &mut self.pod_sets[at];
            if found.topology_assignment.is_some() && ps.delayed_topology_request.is_some() {
                ps.delayed_topology_request = Some(DelayedTopologyRequestState::Ready);
            }
            ps.topology_assignment = found.topology_assignment;
        }
        self.tas_usage = self.compute_tas_net_usage(wl, None, snapshot, node);
    }

    /// The usage of topology domains beyond that of the current admission.
    pub fn compute_tas_net_usage(
        &self,
        wl: &Info,
        counted: Option<&Admission>,
        snapshot: &SnapshotTransaction<'_>,
        node: HierarchyNodeId,
    ) -> TasUsage {
        let mut usage = TasUsage::new();
        for (at, assigned) in self.pod_sets.iter().enumerate() {
            let Some(placed) = &assigned.topology_assignment else {
                continue;
            };
            let ps = wl
                .obj
                .spec
                .pod_sets
                .iter()
                .find(|ps| ps.name == assigned.name);
            let (Some(ps), Ok(flavor)) = (ps, self.only_tas_flavor(at, snapshot, node)) else {
                continue;
            };
            let counted = admitted_domain_counts(counted, &assigned.name);
            let requests = pod_template_requests(&ps.template);
            for domain in &placed.domains {
                let known = counted.get(&domain.values.join(",")).copied().unwrap_or(0);
                let count = domain.count.saturating_sub(known);
                if count > 0 {
                    usage
                        .entry(flavor.clone())
                        .or_default()
                        .push(TopologyDomainRequests {
                            values: domain.values.clone(),
                            single_pod_requests: requests.clone(),
                            count,
                        });
                }
            }
        }
        usage
    }

    /// Updates the mode of all pod sets with topology requests.
    pub(super) fn update_mode_for_requests(
        &mut self,
        requests: &WorkloadTasRequests<'_>,
        mode: FlavorAssignmentMode,
    ) {
        for request in requests.values().flatten() {
            self.update_mode(&request.pod_set.name, mode);
        }
    }
}

/// The pod set group of a pod set, if any.
pub(crate) fn pod_set_group_name(ps: &PodSet) -> Option<&str> {
    ps.topology_request.as_ref()?.pod_set_group_name.as_deref()
}

fn previous_assignment<'w>(old: &'w Info, pod_set: &str) -> Option<&'w TopologyAssignment> {
    let assignments = &old.obj.status.admission.as_ref()?.pod_set_assignments;
    let mut of_pod_set = assignments.iter().filter(|psa| psa.name == pod_set);
    of_pod_set.find_map(|psa| psa.topology_assignment.as_ref())
}

/// The pod counts by domain in an admission.
fn admitted_domain_counts(admission: Option<&Admission>, pod_set: &str) -> BTreeMap<String, i32> {
    let mut counts = BTreeMap::new();
    let assigned = admission.iter().flat_map(|a| &a.pod_set_assignments);
    let assigned = assigned.filter(|psa| psa.name == pod_set).take(1);
    for ta in assigned.filter_map(|psa| psa.topology_assignment.as_ref()) {
        for domain in decode(ta).domains {
            *counts.entry(domain.values.join(",")).or_insert(0) += domain.count;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::EngineConfig;
    use crate::cache::Cache;
    use crate::flavor_assigner::{FlavorAssignment, PodSetAssignment};
    use crate::resources::ResourceName;
    use kueue_lab_api::v1beta2::{ClusterQueue as ApiClusterQueue, ResourceFlavor, Topology};

    fn read<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    /// The error of a pod set that requires a topology level and is assigned `assigned`, in a
    /// ClusterQueue of these flavors. Flavors whose name starts with `tas` have a topology.
    fn error_of(flavors: &[&str], assigned: &[&str]) -> Option<String> {
        let config = EngineConfig::default();
        let mut cache = Cache::new(&config.gates);
        let mut topology = Topology::named("default");
        topology.spec.levels = read(json!([{"nodeLabel": "kubernetes.io/hostname"}]));
        cache.upsert_topology(&topology, &config);
        for name in flavors {
            let mut flavor = ResourceFlavor::named(*name);
            flavor.spec.topology_name = name.starts_with("tas").then(|| "default".to_owned());
            cache.upsert_flavor(flavor.into(), &config);
        }
        let mut queue = ApiClusterQueue::named("cq");
        let flavors: Vec<_> = flavors
            .iter()
            .map(|name| json!({"name": name, "resources": []}))
            .collect();
        queue.spec.resource_groups = read(json!([{"coveredResources": [], "flavors": flavors}]));
        cache.add_cluster_queue(&queue, &config).unwrap();
        let wl = read(json!({"metadata": {"name": "wl"}, "spec": {"podSets": [{
            "name": "main", "count": 1,
            "topologyRequest": {"required": "kubernetes.io/hostname"},
            "template": {"spec": {"containers": [{"name": "c"}]}},
        }]}}));
        let wl = Info::new(std::sync::Arc::new(wl), &config);
        let mut pod_set = PodSetAssignment {
            name: "main".to_owned(),
            count: 1,
            ..Default::default()
        };
        let mut assignment = Assignment::default();
        for (i, flavor) in assigned.iter().enumerate() {
            let resource = ResourceName::new(&format!("resource-{i}"));
            pod_set.flavors.insert(resource, i);
            assignment.flavors.push(FlavorAssignment {
                flavor: (*flavor).into(),
                mode: FlavorAssignmentMode::Fit,
                tried_flavor_idx: -1,
                borrow: 0,
            });
        }
        assignment.pod_sets.push(pod_set);
        let now = jiff::Timestamp::UNIX_EPOCH;
        let snapshot = SnapshotTransaction::new(&mut cache, &config, None, now);
        let node = snapshot.active_node("cq").unwrap();
        let requests = assignment.workload_topology_requests(&wl, None, &snapshot, node);
        let error = assignment.pod_sets[0].status.error.clone();
        assert_eq!(requests.is_empty(), error.is_some());
        error.map(|e| e.to_string())
    }

    #[test]
    fn a_cluster_queue_without_tas_flavors_has_no_tas_cache_information() {
        assert_eq!(
            error_of(&["default"], &["default"]).as_deref(),
            Some("workload requires Topology, but there is no TAS cache information")
        );
    }

    #[test]
    fn an_assigned_flavor_without_topology_snapshot_is_no_tas_flavor() {
        assert_eq!(
            error_of(&["default", "tas"], &["default"]).as_deref(),
            Some("no TAS flavor assigned")
        );
    }

    #[test]
    fn exactly_one_tas_flavor_may_be_assigned() {
        assert_eq!(error_of(&["default", "tas"], &["tas", "default"]), None);
        assert_eq!(
            error_of(&["tas-a", "tas-b"], &["tas-b", "tas-a"]).as_deref(),
            Some("more than one TAS flavor assigned: tas-a, tas-b")
        );
    }
}
