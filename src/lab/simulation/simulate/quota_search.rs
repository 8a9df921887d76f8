//! [`quota_changes`]: the smallest quotas and limits that admit workloads.

use std::collections::{BTreeMap, BTreeSet};

use super::admitting_changes::AdmittingChanges;
use super::changed_state::ChangedState;
use super::object_quota::ObjectQuota;
use super::quota_raise::{QuotaRaise, RaisedField};
use super::simulation::Simulation;
use super::verified_change::VerifiedChange;
use kueue_lab_api::v1beta2::{ClusterQueue, ResourceGroup};
use kueue_lab_engine::config::QuotaCheckStrategy;
use kueue_lab_engine::cycle::Decision;
use kueue_lab_engine::resources::{Requests, ResourceName};
use kueue_lab_reason::{QuotaField, QuotaObject};

/// The most quotas and limits of a flavor that are tried.
const MAX_FIELDS: usize = 16;
/// The most flavors and ClusterQueues whose quotas are raised together.
const MAX_TOGETHER: usize = 16;

/// Adds the smallest limits and nominal quotas that admit the workloads: of each flavor that the pods can use,
/// together with those of other resource groups and ClusterQueues if it does not suffice, and of resources that
/// a ClusterQueue does not cover.
pub(super) fn quota_changes(
    state: &ChangedState<'_>,
    simulation: &Simulation,
    found: &mut AdmittingChanges,
) {
    let requests = state.requests_by_queue();
    let pending = simulation.workloads.iter().filter(|wl| !wl.admitted);
    let is_behind = pending.clone().any(|wl| !wl.behind.is_empty());
    if is_behind && state.has_strict_queue() {
        found.search_limits.push(
            "quotas in flavors of the workloads, not of those ahead in StrictFIFO queues"
                .to_owned(),
        );
    }
    let decisions: Vec<&Decision> = pending
        .filter_map(|wl| wl.explanation.as_ref()?.now.as_ref())
        .collect();
    let mut changes: Vec<(ObjectQuota, VerifiedChange)> = Vec::new();
    for (queue, flavor) in usable_flavors(&decisions) {
        let fields = ObjectQuota::all(state.base.engine(), &queue, &flavor);
        if fields.len() > MAX_FIELDS {
            found.search_limits.push(format!(
                "{MAX_FIELDS} of {} quotas and limits in flavor {flavor}",
                fields.len()
            ));
        }
        for field in fields.into_iter().take(MAX_FIELDS) {
            let more = requests_in(state, &requests, &queue, &flavor);
            let raised = RaisedField::new(state, field.clone(), &flavor, &more);
            let change = raised.and_then(|raised| smallest(state, &requests, raised));
            changes.extend(change.map(|change| (field, change)));
        }
    }
    let uncovered = decisions.iter().find_map(|decision| {
        let mut raised = uncovered_fields(state, &requests, decision).into_iter();
        raised.find_map(|raised| {
            let field = raised.field.clone();
            Some((field, smallest(state, &requests, raised)?))
        })
    });
    changes.extend(uncovered);
    // Limits cost nothing.
    changes.sort_by_key(|(field, _)| !field.is_limit());
    for (_, change) in changes {
        if !found.admitting_changes.contains(&change) {
            found.admitting_changes.push(change);
        }
    }
}

/// The smallest amounts of a field that admit the workloads, with those of other flavors if needed.
fn smallest(
    state: &ChangedState<'_>,
    requests: &BTreeMap<String, Requests>,
    raised: RaisedField,
) -> Option<VerifiedChange> {
    let is_nominal = raised.field.is_nominal();
    let mut raise = QuotaRaise {
        fields: vec![raised],
    };
    // The highest amounts show whether any suffices.
    while !raise.can_admit(state) {
        if !is_nominal || raise.fields.len() >= MAX_TOGETHER {
            return None;
        }
        let next = next_field(state, requests, &raise)?;
        raise.fields.push(next);
    }
    raise.smallest(state)?.verified(state)
}

/// The missing quota besides the highest amounts of a raise: quota of another resource group or
/// ClusterQueue, or of a resource that is not covered.
fn next_field(
    state: &ChangedState<'_>,
    requests: &BTreeMap<String, Requests>,
    raise: &QuotaRaise,
) -> Option<RaisedField> {
    let highest = raise.highest();
    let pending = state.pending_decisions(|driver, now| highest.apply(driver, now));
    let decisions: Vec<&Decision> = pending.iter().collect();
    let is_raised = |queue: &str, flavor: &str| {
        let group = group_of(state, queue, flavor);
        raise.fields.iter().any(|raised| {
            let is_queue = match &raised.field {
                ObjectQuota::Field { object, name, .. } => match object {
                    QuotaObject::ClusterQueue => name == queue,
                    // The quota of a Cohort is that of all its ClusterQueues.
                    QuotaObject::Cohort => true,
                },
                ObjectQuota::Uncovered(_) => false,
            };
            let mut flavors = group.into_iter().flat_map(|group| &group.flavors);
            is_queue && flavors.any(|quotas| quotas.name == raised.flavor)
        })
    };
    let of_flavor = usable_flavors(&decisions)
        .into_iter()
        .filter(|(queue, flavor)| !is_raised(queue, flavor))
        .find_map(|(queue, flavor)| {
            let more = requests_in(state, requests, &queue, &flavor);
            let cohort = raise.fields.iter().find_map(|raised| match &raised.field {
                ObjectQuota::Field {
                    object: QuotaObject::Cohort,
                    name,
                    ..
                } => Some(name),
                _ => None,
            });
            let ancestors = state.base.engine().cache().workload_ancestors(&queue);
            let is_below = |cohort: &&String| {
                let mut ancestors = ancestors.iter().flatten();
                ancestors.any(|ancestor| **ancestor == ***cohort)
            };
            let field = match cohort.filter(is_below) {
                Some(cohort) => ObjectQuota::of_cohort(cohort, QuotaField::NominalQuota),
                None => ObjectQuota::of_queue(&queue, QuotaField::NominalQuota),
            };
            RaisedField::new(state, field, &flavor, &more)
        });
    of_flavor.or_else(|| {
        let is_new = |field: &RaisedField| {
            let mut known = raise.fields.iter();
            !known.any(|known| known.field == field.field && known.resources() == field.resources())
        };
        let fields = decisions
            .iter()
            .flat_map(|decision| uncovered_fields(state, requests, decision));
        fields.into_iter().find(is_new)
    })
}

/// The ClusterQueues of decisions and the flavors that their pods can use.
fn usable_flavors(decisions: &[&Decision]) -> BTreeSet<(String, String)> {
    let mut usable = BTreeSet::new();
    for decision in decisions {
        let attempts = || decision.pod_sets.iter().flat_map(|ps| ps.attempts.iter());
        let excluded: BTreeSet<&str> = attempts()
            .filter(|attempt| attempt.mismatch.is_some())
            .map(|attempt| &*attempt.flavor)
            .collect();
        let flavors = attempts().filter(|attempt| !excluded.contains(&*attempt.flavor));
        usable.extend(flavors.map(|attempt| {
            (
                decision.cluster_queue.to_string(),
                attempt.flavor.to_string(),
            )
        }));
    }
    usable
}

fn group_of<'s>(
    state: &'s ChangedState<'_>,
    queue: &str,
    flavor: &str,
) -> Option<&'s ResourceGroup> {
    let queue: &ClusterQueue = state.base.engine().cluster_queue(queue)?;
    let mut groups = queue.spec.resource_groups.iter();
    groups.find(|group| group.flavors.iter().any(|quotas| quotas.name == flavor))
}

/// The total requests of the workloads of a ClusterQueue for the resources of a flavor.
fn requests_in(
    state: &ChangedState<'_>,
    requests: &BTreeMap<String, Requests>,
    queue: &str,
    flavor: &str,
) -> Vec<(ResourceName, i64)> {
    let Some(group) = group_of(state, queue, flavor) else {
        return Vec::new();
    };
    let requests = requests.get(queue).into_iter().flat_map(Requests::iter);
    let mut covered: Vec<(ResourceName, i64)> = requests
        .filter(|(name, amount)| {
            let mut covered = group.covered_resources.iter();
            *amount > 0 && covered.any(|covered| covered == name.as_str())
        })
        .collect();
    covered.sort_by_key(|(name, _)| name.as_str());
    covered
}

/// Where the first resource that the ClusterQueue of a decision does not cover can get quota: in each flavor of the
/// groups of the other resources, or in a flavor that has it in another ClusterQueue.
fn uncovered_fields(
    state: &ChangedState<'_>,
    requests: &BTreeMap<String, Requests>,
    decision: &Decision,
) -> Vec<RaisedField> {
    let engine = state.base.engine();
    let name = decision.cluster_queue.to_string();
    let (Some(queue), Some(requests)) = (engine.cluster_queue(&name), requests.get(&name)) else {
        return Vec::new();
    };
    if engine.config().quota_check_strategy == QuotaCheckStrategy::IgnoreUndeclared {
        return Vec::new();
    }
    let groups = &queue.spec.resource_groups;
    let covers = |group: &ResourceGroup, resource: ResourceName| {
        let mut covered = group.covered_resources.iter();
        covered.any(|covered| covered == resource.as_str())
    };
    let is_covered = |resource| groups.iter().any(|group| covers(group, resource));
    let all = || requests.iter().filter(|(_, amount)| *amount > 0);
    let uncovered = all().filter(|(resource, _)| !is_covered(*resource));
    let first = uncovered.min_by_key(|(resource, _)| resource.as_str());
    let Some((resource, amount)) = first else {
        return Vec::new();
    };
    let used = |group: &&ResourceGroup| all().any(|(resource, _)| covers(group, resource));
    let own = groups.iter().filter(used).flat_map(|group| &group.flavors);
    let mut flavors: Vec<&str> = own.map(|quotas| quotas.name.as_str()).collect();
    let is_own = |flavor: &str| {
        let mut own = groups.iter().flat_map(|group| &group.flavors);
        own.any(|quotas| quotas.name == flavor)
    };
    for other in engine.cache().cluster_queues() {
        let other = engine.cluster_queue(&other.name);
        let groups = other
            .into_iter()
            .flat_map(|other| &other.spec.resource_groups);
        for quotas in groups.flat_map(|group| &group.flavors) {
            let has_resource = quotas.resources.iter().any(|q| q.name == resource.as_str());
            let flavor = quotas.name.as_str();
            if has_resource && !is_own(flavor) && !flavors.contains(&flavor) {
                flavors.push(flavor);
            }
        }
    }
    let flavors = flavors.into_iter().take(MAX_FIELDS);
    let fields = flavors.filter_map(|flavor| {
        let field = ObjectQuota::Uncovered(name.clone());
        RaisedField::new(state, field, flavor, &[(resource, amount)])
    });
    fields.collect()
}
