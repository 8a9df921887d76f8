//! The flavors and victims of one entry, on the cache as it stands in the cycle.

use std::sync::Arc;

use super::entry::Outlook;
use crate::assign::{Assigner, Assignment, Mode, NominationMapping, search_counts};
use crate::cache::{NodeId, WlIdx};
use crate::preempt::{Oracle, Search, Target, Victims};
use crate::slices;
use crate::snapshot::Snapshot;
use crate::tas::FindOptions;
use crate::workload::{Info, predicates};

/// Finds flavors and victims for a workload. Where the last search stopped is forgotten when it
/// no longer describes the state of affairs.
pub(super) fn find(
    info: &mut Info,
    node: NodeId,
    cycle: i64,
    nomination: Option<&NominationMapping>,
    snapshot: &mut Snapshot<'_>,
) -> Outlook {
    let generation = snapshot.cache.forest[node].generation;
    let gates = &snapshot.config.gates;
    if info
        .last_assignment
        .as_ref()
        .is_some_and(|last| last.is_outdated(generation, cycle, &info.scheduling_hash, gates))
    {
        info.last_assignment = None;
    }
    let slice = slices::replaced(info, node, snapshot);
    let mut outlook = initial(info, node, cycle, nomination, slice.as_ref(), snapshot);
    let replaced = slice.as_ref().map(|(_, old)| &**old);
    place_for_preemption(info, node, replaced, &mut outlook, snapshot);
    outlook
}

fn victims(
    info: &Info,
    node: NodeId,
    replaced: Option<&Info>,
    assignment: &mut Assignment,
    snapshot: &mut Snapshot<'_>,
) -> Victims {
    Search::for_assignment(info, node, assignment, replaced, snapshot).run(snapshot)
}

fn initial(
    info: &Info,
    node: NodeId,
    cycle: i64,
    nomination: Option<&NominationMapping>,
    slice: Option<&(WlIdx, Arc<Info>)>,
    snapshot: &mut Snapshot<'_>,
) -> Outlook {
    let replaced = slice.map(|(_, old)| &**old);
    let mut targets: Vec<Target> = slice
        .iter()
        .map(|(idx, _)| Target {
            idx: *idx,
            reason: None,
        })
        .collect();
    let Some(mut assigner) = Assigner::new(info, node, snapshot) else {
        return Outlook {
            assignment: Assignment::default(),
            targets: Vec::new(),
            considered: Vec::new(),
        };
    };
    assigner.cycle = cycle;
    assigner.nomination = nomination;
    assigner.replaced = slice.map(|(_, old)| old);
    let mut full = assigner.assign(snapshot, &mut Oracle, None);
    let mut considered = Vec::new();
    match full.mode() {
        Mode::Fit => {
            return Outlook {
                assignment: full,
                targets,
                considered,
            };
        }
        Mode::Preempt => {
            let found = victims(info, node, replaced, &mut full, snapshot);
            considered = found.considered;
            if !found.targets.is_empty() {
                targets.extend(found.targets);
                return Outlook {
                    assignment: full,
                    targets,
                    considered,
                };
            }
        }
        _ => {}
    }
    if snapshot.config.gates.partial_admission && predicates::can_be_partially_admitted(&info.obj) {
        let found = search_counts(&info.obj.spec.pod_sets, |counts| {
            let mut reduced = assigner.assign(snapshot, &mut Oracle, Some(counts));
            match reduced.mode() {
                Mode::Fit => Some((reduced, Victims::default())),
                Mode::Preempt => {
                    let found = victims(info, node, replaced, &mut reduced, snapshot);
                    (!found.targets.is_empty()).then_some((reduced, found))
                }
                _ => None,
            }
        });
        if let Some((assignment, found)) = found {
            targets.extend(found.targets);
            return Outlook {
                assignment,
                targets,
                considered: found.considered,
            };
        }
    }
    Outlook {
        assignment: full,
        targets: Vec::new(),
        considered,
    }
}

/// Finds the places an entry takes once its victims are gone; without victims those it would take
/// in an empty cluster, so that nobody slips in while it waits.
fn place_for_preemption(
    info: &Info,
    node: NodeId,
    replaced: Option<&Info>,
    outlook: &mut Outlook,
    snapshot: &mut Snapshot<'_>,
) {
    let assignment = &mut outlook.assignment;
    if !snapshot.config.gates.topology_aware_scheduling || assignment.mode() != Mode::Preempt {
        return;
    }
    let explicit = info
        .obj
        .spec
        .pod_sets
        .iter()
        .any(predicates::is_explicitly_requesting_tas);
    let implied = snapshot.queue(node).is_some_and(|q| q.is_tas_only());
    if !(explicit || implied) || predicates::has_topology_assignment_with_unhealthy_node(&info.obj)
    {
        return;
    }
    let requests = assignment.topology_requests(info, replaced, snapshot, node);
    let options = FindOptions {
        simulate_empty: outlook.targets.is_empty(),
        workload: Some(&info.obj),
    };
    for target in &outlook.targets {
        snapshot.remove_workload_usage(target.idx);
    }
    let result = snapshot.find_topology_assignments(&requests, options);
    for target in &outlook.targets {
        snapshot.add_workload_usage(target.idx);
    }
    assignment.update_for_tas_result(result, info, snapshot, node);
}
