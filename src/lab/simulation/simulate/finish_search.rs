//! [`finish_change`]: the fewest workloads that have to finish.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::admitting_change::AdmittingChange;
use super::admitting_changes::AdmittingChanges;
use super::changed_state::ChangedState;
use super::verified_change::VerifiedChange;
use crate::EngineDriver;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::workload::{WorkloadKey, predicates};

/// The maximum number of workloads that are tried alone, and of kinds of a set that is reduced.
const MAX_KINDS: usize = 64;

/// The workloads that reserve quota, longest admitted first, of one kind each: workloads of the same kind are
/// interchangeable.
struct ReservingWorkloads {
    keys: Vec<WorkloadKey>,
    /// The kind of each.
    kinds: Vec<usize>,
}

/// Adds the fewest admitted workloads that have to finish: one, or a set of which none can be left out.
pub(super) fn finish_change(state: &ChangedState<'_>, found: &mut AdmittingChanges) {
    let reserving = ReservingWorkloads::of(state);
    let preemptions = |finished: &[WorkloadKey]| {
        let finish = |driver: &mut EngineDriver, now: Timestamp| {
            for key in finished {
                driver.finish(key, now);
            }
        };
        state.preemptions_if_admitted(finish, |_| {})
    };
    let admits = |finished: &[WorkloadKey]| preemptions(finished).is_some();
    let alone = reserving.first_of_each_kind();
    let mut tried = alone.iter().take(MAX_KINDS);
    let one = tried.find(|key| admits(std::slice::from_ref(*key)));
    let workloads = match one {
        Some(key) => Some(vec![(*key).clone()]),
        None => {
            if alone.len() > MAX_KINDS {
                found.search_limits.push(format!(
                    "{MAX_KINDS} of {} admitted workloads alone",
                    alone.len()
                ));
            }
            reserving.fewest(admits, found)
        }
    };
    let change = workloads.and_then(|workloads| {
        Some(VerifiedChange {
            preemptions: preemptions(&workloads)?,
            change: AdmittingChange::Finish { workloads },
        })
    });
    found.admitting_changes.extend(change);
}

impl ReservingWorkloads {
    /// The admitted workloads whose quota or nodes the workloads of a state can get.
    fn of(state: &ChangedState<'_>) -> Self {
        let engine = state.base.engine();
        let queues = state.tree_of_workloads();
        let flavors = state.flavors_of_workloads();
        let topologies = |flavor: &String| {
            let flavor = engine.cache().flavor(flavor);
            flavor.is_some_and(|flavor| flavor.spec.topology_name.is_some())
        };
        // Behind the head of a StrictFIFO queue, a workload waits for the quota that the head needs.
        let waits_for_head = state.has_strict_queue();
        let blocks = engine.config().block_admission_until_pods_ready;
        let admitted_at = |wl: &Workload| {
            let admitted = predicates::true_condition(wl, c::ADMITTED);
            admitted.map(|condition| condition.last_transition_time.0)
        };
        let mut reserving: Vec<&Workload> = Vec::new();
        for wl in engine.workloads() {
            let Some(admission) = wl.status.admission.as_ref() else {
                continue;
            };
            if !predicates::is_admitted(wl) || predicates::is_finished(wl) {
                continue;
            }
            let assigned = admission.pod_set_assignments.iter();
            let assigned = assigned.flat_map(|assignment| assignment.flavors.values());
            let mut shared = assigned.filter(|flavor| flavors.contains(*flavor));
            let is_in_tree = queues.contains(admission.cluster_queue.as_str());
            let holds = match is_in_tree {
                true => waits_for_head || shared.next().is_some(),
                false => {
                    // Nodes of a topology are shared by all cohorts.
                    shared.any(topologies)
                }
            };
            let is_waited_for = blocks && predicates::true_condition(wl, c::PODS_READY).is_none();
            if holds || is_waited_for {
                reserving.push(wl);
            }
        }
        reserving.sort_by_key(|wl| (admitted_at(wl), predicates::key(wl)));
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let kinds = reserving.iter().map(|wl| {
            let next = known.len();
            *known.entry(kind_of(wl)).or_insert(next)
        });
        Self {
            kinds: kinds.collect(),
            keys: reserving.iter().map(|wl| predicates::key(wl)).collect(),
        }
    }

    fn first_of_each_kind(&self) -> Vec<&WorkloadKey> {
        let mut first: BTreeMap<usize, &WorkloadKey> = BTreeMap::new();
        for (key, kind) in self.keys.iter().zip(&self.kinds) {
            first.entry(*kind).or_insert(key);
        }
        first.into_values().collect()
    }

    /// The shortest set of those longest admitted that admits, without those that are not needed.
    fn fewest(
        &self,
        admits: impl Fn(&[WorkloadKey]) -> bool,
        found: &mut AdmittingChanges,
    ) -> Option<Vec<WorkloadKey>> {
        if self.keys.len() < 2 || !admits(&self.keys) {
            return None;
        }
        let mut length = self.keys.len();
        let mut below = 1;
        while below < length {
            let middle = below + (length - below) / 2;
            match admits(self.keys.get(..middle)?) {
                true => length = middle,
                false => below = middle + 1,
            }
        }
        // The number of each kind is reduced, those last admitted first.
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for kind in self.kinds.iter().take(length) {
            *counts.entry(*kind).or_default() += 1;
        }
        let kinds: Vec<usize> = counts.keys().rev().copied().collect();
        if kinds.len() > MAX_KINDS {
            found.search_limits.push(format!(
                "{MAX_KINDS} of {} kinds of workloads that do not have to finish",
                kinds.len()
            ));
        }
        for kind in kinds.into_iter().take(MAX_KINDS) {
            let mut below = 0;
            let mut needed = counts.get(&kind).copied().unwrap_or_default();
            // Most often every one of them is needed.
            let mut middle = needed.saturating_sub(1);
            while below < needed {
                let mut fewer = counts.clone();
                fewer.insert(kind, middle);
                match admits(&self.first_of(&fewer)) {
                    true => {
                        needed = middle;
                        counts = fewer;
                    }
                    false => below = middle + 1,
                }
                middle = below + (needed - below) / 2;
            }
        }
        Some(self.first_of(&counts))
    }

    /// The first workloads of each kind, longest admitted first.
    fn first_of(&self, counts: &BTreeMap<usize, usize>) -> Vec<WorkloadKey> {
        let mut left = counts.clone();
        let all = self.keys.iter().zip(&self.kinds);
        let taken = all.filter(|(_, kind)| {
            let left = left.entry(**kind).or_default();
            let is_taken = *left > 0;
            *left = left.saturating_sub(1);
            is_taken
        });
        taken.map(|(key, _)| key.clone()).collect()
    }
}

/// The kind of a workload that reserves quota: its queue, priority, usage and nodes.
fn kind_of(wl: &Workload) -> String {
    let admission = wl.status.admission.as_ref();
    let queue = admission.map_or("", |admission| admission.cluster_queue.as_str());
    let assignments = admission.map(|admission| &admission.pod_set_assignments);
    let priority = wl.spec.priority.unwrap_or(0);
    let is_ready = predicates::true_condition(wl, c::PODS_READY).is_some();
    let local_queue = &wl.spec.queue_name;
    let namespace = predicates::namespace(wl);
    format!("{queue} {namespace} {local_queue} {priority} {is_ready} {assignments:?}")
}
