//! [`setting_changes`]: other settings of the queues, and other topology requests, that admit workloads.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kueue_lab_api::v1beta2::{
    ClusterQueue, Cohort, FairSharing, FlavorFungibility, FlavorFungibilityPolicy, LocalQueue,
    StopPolicy, Workload,
};
use kueue_lab_engine::Engine;
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::resources::Decimal;
use kueue_lab_engine::workload::predicates;
use kueue_lab_reason::QuotaObject;

use super::admitting_change::{AdmittingChange, StoppedQueue, TopologyRequestMode};
use super::admitting_changes::AdmittingChanges;
use super::changed_state::ChangedState;
use super::verified_change::VerifiedChange;
use crate::EngineDriver;

/// The maximum number of doublings of a weight.
const MAX_DOUBLINGS: u32 = 10;

/// Adds the stopped queues of the workloads that have to start: one, or the LocalQueue and its ClusterQueue.
pub(super) fn started_queues(state: &ChangedState<'_>, found: &mut AdmittingChanges) {
    let stopped = stopped_queues(state);
    let alone = stopped.iter().map(std::slice::from_ref);
    let together = (stopped.len() > 1).then_some(stopped.as_slice());
    let change = alone.chain(together).find_map(|queues| {
        let start = |driver: &mut EngineDriver, now: Timestamp| {
            for (queue, _) in queues {
                start(driver, queue, now);
            }
        };
        let preemptions = state.preemptions_if_admitted(start, |_| {})?;
        let changes = queues
            .iter()
            .map(|(queue, stop_policy)| AdmittingChange::StartQueue {
                queue: queue.clone(),
                stop_policy: *stop_policy,
            });
        let mut changes: Vec<AdmittingChange> = changes.collect();
        let change = match changes.len() {
            1 => changes.pop()?,
            _ => AdmittingChange::Combined { changes },
        };
        Some(VerifiedChange {
            change,
            preemptions,
        })
    });
    found.admitting_changes.extend(change);
}

/// Adds other policies of flavorFungibility, topology requests that are less strict, and higher weights.
pub(super) fn setting_changes(state: &ChangedState<'_>, found: &mut AdmittingChanges) {
    let changes = &mut found.admitting_changes;
    for queue in state.requests_by_queue().keys() {
        changes.extend(flavor_fungibility(state, queue));
    }
    changes.extend(topology_request(state));
    if state.base.engine().config().fair_sharing_enabled() {
        for queue in state.requests_by_queue().keys() {
            changes.extend(weight(state, queue));
        }
    }
}

/// The LocalQueues of the workloads and their ClusterQueues that are stopped.
fn stopped_queues(state: &ChangedState<'_>) -> Vec<(StoppedQueue, StopPolicy)> {
    let engine = state.base.engine();
    let mut stopped: Vec<(StoppedQueue, StopPolicy)> = Vec::new();
    let mut add = |queue: StoppedQueue, stop_policy: StopPolicy| {
        let is_known = stopped.iter().any(|(known, _)| *known == queue);
        if stop_policy != StopPolicy::None && !is_known {
            stopped.push((queue, stop_policy));
        }
    };
    for wl in state.workloads {
        let Some(local) = engine.local_queue(&predicates::local_queue_key(wl)) else {
            continue;
        };
        let queue = StoppedQueue::LocalQueue {
            namespace: predicates::namespace(wl).to_owned(),
            name: wl.spec.queue_name.clone(),
        };
        add(queue, local.spec.stop_policy());
        let name = &local.spec.cluster_queue;
        if let Some(queue) = engine.cluster_queue(name) {
            let name = name.clone();
            add(
                StoppedQueue::ClusterQueue { name },
                queue.spec.stop_policy(),
            );
        }
    }
    stopped
}

fn start(driver: &mut EngineDriver, queue: &StoppedQueue, now: Timestamp) {
    match queue {
        StoppedQueue::ClusterQueue { name } => {
            change_queue(driver, name, now, |queue| {
                queue.spec.stop_policy = Some(StopPolicy::None);
            });
        }
        StoppedQueue::LocalQueue { namespace, name } => {
            let key = kueue_lab_engine::workload::LocalQueueKey::new(namespace, name);
            let engine = driver.engine_mut();
            if let Some(local) = engine.local_queue(&key) {
                let mut local = LocalQueue::clone(local);
                local.spec.stop_policy = Some(StopPolicy::None);
                engine.apply(ObjectChange::upsert(local), now);
            }
        }
    }
}

fn change_queue(
    driver: &mut EngineDriver,
    name: &str,
    now: Timestamp,
    change: impl FnOnce(&mut ClusterQueue),
) {
    let engine = driver.engine_mut();
    if let Some(queue) = engine.cluster_queue(name) {
        let mut queue = ClusterQueue::clone(queue);
        change(&mut queue);
        engine.apply(ObjectChange::upsert(queue), now);
    }
}

/// The other policies of flavorFungibility with which the workloads are admitted, as few as possible.
fn flavor_fungibility(state: &ChangedState<'_>, name: &str) -> Option<VerifiedChange> {
    use FlavorFungibilityPolicy::{MayStopSearch, TryNextFlavor};
    let queue = state.base.engine().cluster_queue(name)?;
    let groups = &queue.spec.resource_groups;
    if groups.iter().all(|group| group.flavors.len() < 2) {
        return None;
    }
    let now = queue.spec.flavor_fungibility.clone().unwrap_or_default();
    let other = |policy| match policy {
        MayStopSearch => TryNextFlavor,
        TryNextFlavor => MayStopSearch,
    };
    let borrow = other(now.when_can_borrow());
    let preempt = other(now.when_can_preempt());
    let policies = [
        (None, Some(preempt)),
        (Some(borrow), None),
        (Some(borrow), Some(preempt)),
    ];
    policies.into_iter().find_map(|(borrow, preempt)| {
        let mut to = FlavorFungibility {
            when_can_borrow: borrow.or(now.when_can_borrow),
            when_can_preempt: preempt.or(now.when_can_preempt),
            ..now.clone()
        };
        // Only with two policies of TryNextFlavor there is a preference.
        let both = [to.when_can_borrow(), to.when_can_preempt()];
        to.preference = to.preference.filter(|_| both == [TryNextFlavor; 2]);
        let change = |driver: &mut EngineDriver, now: Timestamp| {
            change_queue(driver, name, now, |queue| {
                queue.spec.flavor_fungibility = Some(to);
            });
        };
        Some(VerifiedChange {
            preemptions: state.preemptions_if_admitted(change, |_| {})?,
            change: AdmittingChange::FlavorFungibility {
                cluster_queue: name.to_owned(),
                when_can_borrow: borrow,
                when_can_preempt: preempt,
            },
        })
    })
}

/// The strictest topology request below that of the workloads with which they are admitted.
fn topology_request(state: &ChangedState<'_>) -> Option<VerifiedChange> {
    let pod_sets = || state.workloads.iter().flat_map(|wl| &wl.spec.pod_sets);
    let requests = || pod_sets().filter_map(|pod_set| pod_set.topology_request.as_ref());
    let has_required = requests().any(|request| request.required.is_some());
    let has_preferred = requests().any(|request| request.preferred.is_some());
    let modes = [
        has_required.then_some(TopologyRequestMode::Preferred),
        (has_required || has_preferred).then_some(TopologyRequestMode::Unconstrained),
    ];
    modes.into_iter().flatten().find_map(|to| {
        let adapt = |wl: &mut Workload| to.apply(wl);
        Some(VerifiedChange {
            preemptions: state.preemptions_if_admitted(|_, _| {}, adapt)?,
            change: AdmittingChange::TopologyRequest { to },
        })
    })
}

impl TopologyRequestMode {
    /// Makes the topology requests of a workload less strict.
    pub fn apply(self, wl: &mut Workload) {
        let pod_sets = wl.spec.pod_sets.iter_mut();
        for request in pod_sets.filter_map(|pod_set| pod_set.topology_request.as_mut()) {
            match self {
                TopologyRequestMode::Preferred => {
                    if let Some(level) = request.required.take() {
                        request.preferred = Some(level);
                    }
                }
                TopologyRequestMode::Unconstrained => {
                    let required = request.required.take();
                    if required.or(request.preferred.take()).is_some() {
                        request.unconstrained = Some(true);
                    }
                }
            }
        }
    }
}

/// The lowest weight of a ClusterQueue, or of a Cohort above it, with which the workloads are admitted.
fn weight(state: &ChangedState<'_>, queue: &str) -> Option<VerifiedChange> {
    let engine = state.base.engine();
    let cohorts = engine.cache().workload_ancestors(queue).unwrap_or_default();
    // The root has no sibling.
    let below_root = cohorts.len().saturating_sub(1);
    let cohorts = cohorts.iter().take(below_root);
    let cohorts = cohorts.map(|cohort| (QuotaObject::Cohort, cohort.to_string()));
    let mut objects = std::iter::once((QuotaObject::ClusterQueue, queue.to_owned())).chain(cohorts);
    objects.find_map(|(object, name)| {
        let from = weight_now(engine, object, &name)?;
        let preemptions = |doublings: u32| {
            let to = doubled(&from, doublings);
            let change = |driver: &mut EngineDriver, now: Timestamp| {
                set_weight(driver, object, &name, to, now);
            };
            state.preemptions_if_admitted(change, |_| {})
        };
        let (mut below, mut found) = (0, MAX_DOUBLINGS);
        let mut preempted = preemptions(found)?;
        while found - below > 1 {
            let middle = below + (found - below) / 2;
            match preemptions(middle) {
                Some(fewer) => (found, preempted) = (middle, fewer),
                None => below = middle,
            }
        }
        Some(VerifiedChange {
            change: AdmittingChange::Weight {
                object,
                name: name.clone(),
                to: doubled(&from, found).0,
                from: from.0.clone(),
            },
            preemptions: preempted,
        })
    })
}

/// The weight of an object; none of a Cohort without one.
fn weight_now(engine: &Engine, object: QuotaObject, name: &str) -> Option<Quantity> {
    let fair_sharing = match object {
        QuotaObject::ClusterQueue => &engine.cluster_queue(name)?.spec.fair_sharing,
        QuotaObject::Cohort => &engine.cohort(name)?.spec.fair_sharing,
    };
    let weight = fair_sharing.as_ref().and_then(|f| f.weight.clone());
    Some(weight.unwrap_or_else(|| Quantity("1".to_owned())))
}

/// A power of two times a weight, at least 1.
fn doubled(weight: &Quantity, doublings: u32) -> Quantity {
    let weight = Decimal::parse_lossy(weight).as_f64().max(1.0).ceil();
    Quantity(format!("{:.0}", weight * f64::from(1_u32 << doublings)))
}

fn set_weight(
    driver: &mut EngineDriver,
    object: QuotaObject,
    name: &str,
    to: Quantity,
    now: Timestamp,
) {
    let fair_sharing = Some(FairSharing { weight: Some(to) });
    match object {
        QuotaObject::ClusterQueue => {
            change_queue(driver, name, now, |queue| {
                queue.spec.fair_sharing = fair_sharing
            });
        }
        QuotaObject::Cohort => {
            let engine = driver.engine_mut();
            if let Some(cohort) = engine.cohort(name) {
                let mut cohort = Cohort::clone(cohort);
                cohort.spec.fair_sharing = fair_sharing;
                // A Cohort in a cycle does not admit anything.
                engine.apply(ObjectChange::upsert(cohort), now);
            }
        }
    }
}
