//! [`admitting_changes`]: the cheapest changes that admit workloads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::changed_state::{AdmittingChange, ChangedState};
use super::quota_place::QuotaPlace;
use super::simulation::{Simulation, simulate};
use kueue_lab_admission::Engine;
use kueue_lab_admission::cycle::Decision;
use kueue_lab_admission::flavor_assigner::FlavorAssignmentAttempt;
use kueue_lab_admission::resources::ResourceName;
use kueue_lab_admission::workload::{WorkloadKey, predicates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// How often the missing quota is doubled before a flavor is given up.
const MAX_DOUBLINGS: u32 = 10;
/// The most quotas and limits of a flavor that are tried.
const MAX_PLACES: usize = 16;
/// The most priorities that are tried.
const MAX_PRIORITIES: usize = 16;
/// The most admitted workloads that are tried to be finished.
const MAX_FINISHED: usize = 64;

/// The cheapest changes that admit workloads: a higher limit or more quota of one flavor, a higher priority,
/// or other workloads that finish. Each is verified by the engine on a copy of the state. Empty when the workloads
/// are admitted, or when no such change admits them.
pub fn admitting_changes(
    live: &Engine,
    pods_ready: bool,
    workloads: &[Arc<Workload>],
    now: Timestamp,
) -> Vec<AdmittingChange> {
    let simulation = simulate(live, pods_ready, workloads, now);
    if simulation.all_admitted() {
        return Vec::new();
    }
    let state = ChangedState::new(live, pods_ready, workloads, now);
    let mut changes = quota_changes(&state, &simulation);
    changes.extend(priority_change(&state));
    changes.extend(finish_change(&state));
    changes
}

/// For each flavor that the pods can use, the smallest limits and nominal quotas that admit the workloads.
fn quota_changes(state: &ChangedState<'_>, simulation: &Simulation) -> Vec<AdmittingChange> {
    // The quota that pending workloads miss, by ClusterQueue and flavor.
    let mut missing: BTreeMap<(Arc<str>, String), BTreeMap<ResourceName, i64>> = BTreeMap::new();
    let pending = simulation.workloads.iter().filter(|wl| !wl.admitted);
    for decision in pending.filter_map(|wl| wl.explanation.as_ref()?.now.as_ref()) {
        for (flavor, amounts) in missing_by_flavor(decision) {
            let key = (decision.cluster_queue.clone(), flavor);
            let known = missing.entry(key).or_default();
            for (resource, amount) in amounts {
                let total = known.entry(resource).or_default();
                *total = total.saturating_add(amount);
            }
        }
    }
    let found = missing.into_iter().flat_map(|((queue, flavor), amounts)| {
        let amounts: Vec<(ResourceName, i64)> = amounts.into_iter().collect();
        let places = QuotaPlace::all(state.base.engine(), &queue, &flavor);
        let places = places.into_iter().take(MAX_PLACES);
        let found = places.filter_map(|place| smallest_quota(state, &place, &flavor, &amounts));
        found.collect::<Vec<_>>()
    });
    found.collect()
}

/// What a workload misses in each flavor that its pods can use; its whole request where nothing is missing.
fn missing_by_flavor(decision: &Decision) -> BTreeMap<String, BTreeMap<ResourceName, i64>> {
    let mut flavors: BTreeMap<String, BTreeMap<ResourceName, i64>> = BTreeMap::new();
    let mut excluded: BTreeSet<String> = BTreeSet::new();
    for attempt in decision.pod_sets.iter().flat_map(|ps| ps.attempts.iter()) {
        if attempt.mismatch.is_some() {
            excluded.insert(attempt.flavor.to_string());
            continue;
        }
        let amounts = flavors.entry(attempt.flavor.to_string()).or_default();
        for (resource, amount) in wanted(attempt) {
            let known = amounts.entry(resource).or_default();
            *known = (*known).max(amount);
        }
    }
    flavors.retain(|flavor, amounts| !excluded.contains(flavor) && !amounts.is_empty());
    flavors
}

fn wanted(attempt: &FlavorAssignmentAttempt) -> Vec<(ResourceName, i64)> {
    let missing = attempt.resources.iter().filter(|r| r.missing.is_positive());
    let missing: Vec<_> = missing.map(|r| (r.resource, r.missing.value())).collect();
    match missing.is_empty() {
        true => {
            let all = attempt.resources.iter();
            all.map(|r| (r.resource, r.requested.value())).collect()
        }
        false => missing,
    }
}

/// The smallest multiple of the amounts, more in this place, with which the workloads are admitted.
fn smallest_quota(
    state: &ChangedState<'_>,
    place: &QuotaPlace,
    flavor: &str,
    amounts: &[(ResourceName, i64)],
) -> Option<AdmittingChange> {
    // In 1/64 of the amounts.
    let scaled = |scale: i64| -> Vec<(ResourceName, i64)> {
        let scaled = |amount: i64| i128::from(amount) * i128::from(scale) / 64;
        let all = amounts.iter();
        all.map(|&(resource, amount)| (resource, i64::try_from(scaled(amount)).unwrap_or(i64::MAX)))
            .collect()
    };
    let try_scale = |scale: i64| {
        let engine = state.base.engine();
        let (changed, increases) = place.raised(engine, flavor, &scaled(scale))?;
        let admits = state.admits(|driver, now| changed.apply(driver, now), |_| {});
        admits.then_some(increases)
    };
    // A limit that is not set cannot be raised, and the highest one shows whether any suffices.
    try_scale(64 << MAX_DOUBLINGS)?;
    let mut below = 0;
    let mut scale = 64;
    let mut increases = try_scale(scale);
    for _ in 0..MAX_DOUBLINGS {
        if increases.is_some() {
            break;
        }
        below = scale;
        scale *= 2;
        increases = try_scale(scale);
    }
    let mut increases = increases?;
    while scale - below > 1 {
        let middle = below + (scale - below) / 2;
        match try_scale(middle) {
            Some(found) => {
                scale = middle;
                increases = found;
            }
            None => below = middle,
        }
    }
    Some(place.change(flavor, increases))
}

/// The lowest priority, above one of another workload, with which the workloads are admitted.
fn priority_change(state: &ChangedState<'_>) -> Option<AdmittingChange> {
    let priority = |wl: &Workload| wl.spec.priority.unwrap_or(0);
    let from = state.workloads.iter().map(|wl| priority(wl)).max()?;
    let others = state.base.engine().workloads();
    let others = others.filter(|wl| !predicates::is_finished(wl));
    let above: BTreeSet<i32> = others
        .map(|wl| priority(wl))
        .filter(|other| *other >= from)
        .filter_map(|other| other.checked_add(1))
        .collect();
    let admits = |to: i32| {
        let adapt = |wl: &mut Workload| wl.spec.priority = Some(priority(wl).max(to));
        state.admits(|_, _| {}, adapt)
    };
    let mut tried = above.into_iter().take(MAX_PRIORITIES);
    let to = tried.find(|to| admits(*to))?;
    Some(AdmittingChange::Priority { from, to })
}

/// The fewest admitted workloads, longest admitted first, that have to finish.
fn finish_change(state: &ChangedState<'_>) -> Option<AdmittingChange> {
    let admitted_at = |wl: &Workload| {
        let admitted = predicates::true_condition(wl, c::ADMITTED);
        admitted.map(|condition| condition.last_transition_time.0)
    };
    let workloads = state.base.engine().workloads();
    let admitted =
        workloads.filter(|wl| predicates::is_admitted(wl) && !predicates::is_finished(wl));
    let mut admitted: Vec<&Arc<Workload>> = admitted.collect();
    admitted.sort_by_key(|wl| (admitted_at(wl), predicates::key(wl)));
    let keys = admitted.into_iter().take(MAX_FINISHED);
    let keys: Vec<WorkloadKey> = keys.map(|wl| predicates::key(wl)).collect();
    let admits = |finished: &[WorkloadKey]| {
        let finish = |driver: &mut crate::EngineDriver, now| {
            for key in finished {
                driver.finish(key, now);
            }
        };
        state.admits(finish, |_| {})
    };
    for key in &keys {
        if admits(std::slice::from_ref(key)) {
            return Some(AdmittingChange::Finish {
                workloads: vec![key.clone()],
            });
        }
    }
    if keys.len() < 2 || !admits(&keys) {
        return None;
    }
    // Those without which the others suffice are left out, the last admitted first.
    let mut needed = keys;
    for index in (0..needed.len()).rev() {
        let mut fewer = needed.clone();
        fewer.remove(index);
        if admits(&fewer) {
            needed = fewer;
        }
    }
    Some(AdmittingChange::Finish { workloads: needed })
}
