//! Predicates on the spec and conditions of a Workload.
//!
//! Must not change a Workload; see [`crate::status`] for that.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{LocalQueueKey, WorkloadKey};
use crate::feature_gates::Gates;
use crate::topology_assignment::{self, assigned_node_names};
use kueue_lab_api::conditions::find_true_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{
    AdmissionCheckState, CheckState, DelayedTopologyRequestState, PodSet, PreemptionGatePosition,
    Workload,
};

/// The Workload's `namespace/name`.
pub fn key(wl: &Workload) -> WorkloadKey {
    WorkloadKey::new(namespace(wl), name(wl))
}

/// The LocalQueue the Workload is submitted to.
pub fn local_queue_key(wl: &Workload) -> LocalQueueKey {
    LocalQueueKey::new(namespace(wl), &wl.spec.queue_name)
}

/// The Workload's namespace.
pub fn namespace(wl: &Workload) -> &str {
    wl.metadata.namespace.as_deref().unwrap_or_default()
}

/// The Workload's name.
pub fn name(wl: &Workload) -> &str {
    wl.metadata.name.as_deref().unwrap_or_default()
}

/// The Workload's UID.
pub fn uid(wl: &Workload) -> &str {
    wl.metadata.uid.as_deref().unwrap_or_default()
}

/// The Workload's generation, 0 when unset.
pub fn generation(wl: &Workload) -> i64 {
    wl.metadata.generation.unwrap_or(0)
}

/// An annotation of the Workload.
pub fn annotation<'a>(wl: &'a Workload, key: &str) -> Option<&'a str> {
    wl.metadata
        .annotations
        .as_ref()?
        .get(key)
        .map(String::as_str)
}

/// A label of the Workload.
pub fn label<'a>(wl: &'a Workload, key: &str) -> Option<&'a str> {
    wl.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// A condition, if it is False.
pub fn false_condition<'a>(wl: &'a Workload, type_: &str) -> Option<&'a Condition> {
    wl.condition(type_).filter(|c| c.status == "False")
}

/// A condition, if it is True.
pub fn true_condition<'a>(wl: &'a Workload, type_: &str) -> Option<&'a Condition> {
    find_true_condition(&wl.status.conditions, type_)
}

/// The admission status of a Workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Without quota reservation.
    Pending,
    /// With quota reservation; admission checks are pending.
    QuotaReserved,
    /// Admitted.
    Admitted,
    /// Finished.
    Finished,
}

/// The admission status of the Workload.
pub fn status(wl: &Workload) -> Status {
    if is_finished(wl) {
        Status::Finished
    } else if is_admitted(wl) {
        Status::Admitted
    } else if has_quota_reservation(wl) {
        Status::QuotaReserved
    } else {
        Status::Pending
    }
}

/// Whether the Workload is finished.
pub fn is_finished(wl: &Workload) -> bool {
    wl.is_condition_true(c::FINISHED)
}

/// Whether the Workload is admitted.
pub fn is_admitted(wl: &Workload) -> bool {
    wl.is_condition_true(c::ADMITTED)
}

/// Whether the Workload is evicted.
pub fn is_evicted(wl: &Workload) -> bool {
    wl.is_condition_true(c::EVICTED)
}

/// Whether the Workload has quota reservation.
pub fn has_quota_reservation(wl: &Workload) -> bool {
    wl.is_condition_true(c::QUOTA_RESERVED)
}

/// Whether the Workload has quota reservation and is neither finished nor inactive.
pub fn has_active_quota_reservation(wl: &Workload) -> bool {
    has_quota_reservation(wl) && !is_finished(wl) && wl.spec.is_active()
}

/// Whether the Workload is on hold: it must not be queued.
pub fn is_on_hold(wl: &Workload) -> bool {
    false_condition(wl, c::QUOTA_RESERVED)
        .is_some_and(|cond| cond.reason == c::quota_reserved::ON_HOLD)
}

/// Whether an admission gate blocks the Workload.
pub fn has_admission_gate(wl: &Workload, gates: &Gates) -> bool {
    gates.admission_gated_by
        && annotation(wl, c::ADMISSION_GATED_BY_ANNOTATION).is_some_and(|v| !v.is_empty())
}

/// Whether the Workload may be queued.
pub fn is_admissible(wl: &Workload, gates: &Gates) -> bool {
    !has_admission_gate(wl, gates)
        && !is_finished(wl)
        && wl.spec.is_active()
        && !has_quota_reservation(wl)
        && !is_on_hold(wl)
        && !wl.is_condition_true(c::WAITING_FOR_REPLACEMENT_PODS)
}

/// Whether a preemption gate of the Workload is closed; a gate without state counts as closed.
pub(crate) fn has_closed_preemption_gate(wl: &Workload) -> bool {
    wl.spec.preemption_gates.iter().any(|gate| {
        // The last state of a name counts.
        let state = wl
            .status
            .preemption_gates
            .iter()
            .rev()
            .find(|s| s.name == gate.name);
        state.is_none_or(|s| s.position == PreemptionGatePosition::Closed)
    })
}

/// Whether all admission checks are Ready.
pub(crate) fn has_all_checks_ready(wl: &Workload) -> bool {
    wl.status
        .admission_checks
        .iter()
        .all(|check| check.state == CheckState::Ready)
}

/// Whether any admission check is Retry or Rejected.
pub(crate) fn has_failed_checks(wl: &Workload) -> bool {
    let failed = |s| s == CheckState::Retry || s == CheckState::Rejected;
    wl.status
        .admission_checks
        .iter()
        .any(|check| failed(check.state))
}

/// Whether cluster nomination is skipped: no MultiKueue check, or the cluster is selected. An
/// elastic Workload may be nominated again.
pub fn should_skip_cluster_nomination(
    wl: &Workload,
    check: Option<&AdmissionCheckState>,
    elastic: bool,
) -> bool {
    match check {
        Some(check) if check.state == CheckState::Pending => {
            !elastic && wl.status.cluster_name.is_some()
        }
        _ => true,
    }
}

/// Whether a delayed topology request is pending.
pub(crate) fn has_topology_assignments_pending(wl: &Workload) -> bool {
    wl.status
        .admission
        .iter()
        .flat_map(|a| &a.pod_set_assignments)
        .any(|psa| {
            psa.topology_assignment.is_none()
                && psa.delayed_topology_request == Some(DelayedTopologyRequestState::Pending)
        })
}

/// Whether a topology assignment of the Workload contains an unhealthy node.
pub(crate) fn has_topology_assignment_with_unhealthy_node(wl: &Workload) -> bool {
    if wl.status.unhealthy_nodes.is_empty() || !is_admitted(wl) {
        return false;
    }
    let assignments = wl
        .status
        .admission
        .iter()
        .flat_map(|a| &a.pod_set_assignments);
    assignments
        .filter_map(|psa| psa.topology_assignment.as_ref())
        .any(|ta| {
            topology_assignment::decode(ta)
                .domains
                .iter()
                .any(|d| d.values.last().is_some_and(|v| has_unhealthy_node(wl, v)))
        })
}

/// Whether the node is one of the Workload's unhealthy nodes.
pub fn has_unhealthy_node(wl: &Workload, node: &str) -> bool {
    wl.status.unhealthy_nodes.iter().any(|n| n.name == node)
}

/// Whether the Workload has quota reservation and needs a second pass: for a delayed topology
/// request, or to replace an unhealthy node.
pub fn needs_second_pass(wl: &Workload) -> bool {
    if is_finished(wl) || is_evicted(wl) || !has_quota_reservation(wl) || is_on_hold(wl) {
        return false;
    }
    let delayed = !wl.status.admission_checks.is_empty()
        && has_all_checks_ready(wl)
        && has_topology_assignments_pending(wl)
        && !is_admitted(wl);
    delayed || has_topology_assignment_with_unhealthy_node(wl)
}

/// Whether a pod set requests topology-aware scheduling.
pub fn is_explicitly_requesting_tas(pod_set: &PodSet) -> bool {
    pod_set.topology_request.as_ref().is_some_and(|r| {
        r.unconstrained.is_some()
            || r.required.is_some()
            || r.preferred.is_some()
            || r.pod_set_slice_required_topology.is_some()
            || r.pod_set_slice_size.is_some()
            || !r.podset_slice_required_topology_constraints.is_empty()
    })
}

/// Whether any pod set has a minimum count.
pub fn can_be_partially_admitted(wl: &Workload) -> bool {
    wl.spec
        .pod_sets
        .iter()
        .any(|ps| ps.count > ps.min_count.unwrap_or(ps.count))
}

/// Whether the Workload belongs to an elastic job.
pub fn is_elastic(wl: &Workload, gates: &Gates) -> bool {
    gates.elastic_jobs_via_workload_slices
        && annotation(wl, c::ELASTIC_JOB_ANNOTATION) == Some(c::ELASTIC_JOB_VALUE)
}

/// The nodes of an admitted Workload's topology assignments whose lowest level is the hostname, sorted.
/// Upstream's `TASAssignedNodeNames`.
pub fn tas_assigned_node_names(wl: &Workload) -> Vec<String> {
    let admission = wl.status.admission.as_ref().filter(|_| is_admitted(wl));
    let pod_sets = admission.into_iter().flat_map(|a| &a.pod_set_assignments);
    let assignments = pod_sets.filter_map(|psa| psa.topology_assignment.as_ref());
    let nodes: BTreeSet<String> = assignments.flat_map(assigned_node_names).collect();
    nodes.into_iter().collect()
}
