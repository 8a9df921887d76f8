//! The flavor assignment and preemption targets of one entry.

use std::sync::Arc;

use super::entry::NominationResult;
use crate::cache::{HierarchyNodeId, WorkloadIndex};
use crate::flavor_assigner::{
    Assignment, FlavorAssigner, FlavorAssignmentMode, NominationMapping, search_counts,
};
use crate::preemption::{Oracle, PreemptionSearch, Target, Victims};
use crate::snapshot_transaction::SnapshotTransaction;
use crate::tas::FindOptions;
use crate::workload::{Info, predicates};
use crate::workload_slicing;

/// Computes the flavor assignment and preemption targets of a workload. Drops the last assignment
/// state when it is outdated.
pub(super) fn get_assignments(
    info: &mut Info,
    node: HierarchyNodeId,
    cycle: i64,
    nomination: Option<&NominationMapping>,
    snapshot: &mut SnapshotTransaction<'_>,
) -> NominationResult {
    let generation = snapshot.cache.hierarchy.generation(node);
    let gates = &snapshot.config.gates;
    if info
        .last_assignment
        .as_ref()
        .is_some_and(|last| last.is_outdated(generation, cycle, &info.scheduling_hash, gates))
    {
        info.last_assignment = None;
    }
    let slice = workload_slicing::replaced_workload_slice(info, node, snapshot);
    let mut result =
        get_initial_assignments(info, node, cycle, nomination, slice.as_ref(), snapshot);
    let replaced = slice.as_ref().map(|(_, old)| &**old);
    update_assignment_for_tas(info, node, replaced, &mut result, snapshot);
    result
}

fn get_targets(
    info: &Info,
    node: HierarchyNodeId,
    replaced: Option<&Info>,
    assignment: &mut Assignment,
    snapshot: &mut SnapshotTransaction<'_>,
) -> Victims {
    PreemptionSearch::for_assignment(info, node, assignment, replaced, snapshot)
        .get_targets(snapshot)
}

fn get_initial_assignments(
    info: &Info,
    node: HierarchyNodeId,
    cycle: i64,
    nomination: Option<&NominationMapping>,
    slice: Option<&(WorkloadIndex, Arc<Info>)>,
    snapshot: &mut SnapshotTransaction<'_>,
) -> NominationResult {
    let replaced = slice.map(|(_, old)| &**old);
    let mut targets: Vec<Target> = slice
        .iter()
        .map(|(idx, _)| Target {
            idx: *idx,
            reason: None,
        })
        .collect();
    let Some(mut assigner) = FlavorAssigner::new(info, node, snapshot) else {
        return NominationResult {
            assignment: Assignment::default(),
            targets: Vec::new(),
            evaluated_candidates: Vec::new(),
            shortage: None,
        };
    };
    assigner.cycle = cycle;
    assigner.nomination = nomination;
    assigner.replaced = slice.map(|(_, old)| old);
    let mut full = assigner.assign(snapshot, &mut Oracle, None);
    let mut evaluated_candidates = Vec::new();
    let mut shortage = None;
    match full.mode() {
        FlavorAssignmentMode::Fit => {
            return NominationResult {
                assignment: full,
                targets,
                evaluated_candidates,
                shortage: None,
            };
        }
        FlavorAssignmentMode::Preempt => {
            let found = get_targets(info, node, replaced, &mut full, snapshot);
            evaluated_candidates = found.evaluated_candidates;
            shortage = found.shortage;
            if !found.targets.is_empty() {
                targets.extend(found.targets);
                return NominationResult {
                    assignment: full,
                    targets,
                    evaluated_candidates,
                    shortage: None,
                };
            }
        }
        _ => {}
    }
    if snapshot.config.gates.partial_admission && predicates::can_be_partially_admitted(&info.obj) {
        let found = search_counts(&info.obj.spec.pod_sets, |counts| {
            let mut reduced = assigner.assign(snapshot, &mut Oracle, Some(counts));
            match reduced.mode() {
                FlavorAssignmentMode::Fit => Some((reduced, Victims::default())),
                FlavorAssignmentMode::Preempt => {
                    let found = get_targets(info, node, replaced, &mut reduced, snapshot);
                    (!found.targets.is_empty()).then_some((reduced, found))
                }
                _ => None,
            }
        });
        if let Some((assignment, found)) = found {
            targets.extend(found.targets);
            return NominationResult {
                assignment,
                targets,
                evaluated_candidates: found.evaluated_candidates,
                shortage: None,
            };
        }
    }
    NominationResult {
        assignment: full,
        targets: Vec::new(),
        evaluated_candidates,
        shortage,
    }
}

/// Finds the topology assignment of an entry as if its targets were preempted; without targets, as
/// if the cluster were empty, so that its capacity stays reserved while it waits.
fn update_assignment_for_tas(
    info: &Info,
    node: HierarchyNodeId,
    replaced: Option<&Info>,
    result: &mut NominationResult,
    snapshot: &mut SnapshotTransaction<'_>,
) {
    let assignment = &mut result.assignment;
    if !snapshot.config.gates.topology_aware_scheduling
        || assignment.mode() != FlavorAssignmentMode::Preempt
    {
        return;
    }
    let explicit = info
        .obj
        .spec
        .pod_sets
        .iter()
        .any(predicates::is_explicitly_requesting_tas);
    let implied = snapshot
        .cluster_queue(node)
        .is_some_and(|q| q.is_tas_only());
    if !(explicit || implied) || predicates::has_topology_assignment_with_unhealthy_node(&info.obj)
    {
        return;
    }
    let requests = assignment.workload_topology_requests(info, replaced, snapshot, node);
    let options = FindOptions {
        simulate_empty: result.targets.is_empty(),
        workload: Some(&info.obj),
    };
    for target in &result.targets {
        snapshot.remove_workload_usage(target.idx);
    }
    let tas_result = snapshot.find_topology_assignments(&requests, options);
    for target in &result.targets {
        snapshot.add_workload_usage(target.idx);
    }
    assignment.update_for_tas_result(tas_result, info, snapshot, node);
}
