//! Why a workload is pending, from the objects of a cluster: the message of its condition is the
//! only one that has the reasons of the scheduler.

use super::WorkloadRow;
use crate::model::derived::DerivedData;
use crate::model::queues::ClusterQueueRow;
use crate::model::{ClusterData, Row};
use kueue_lab_api::constants::{
    ACTIVE, QUOTA_RESERVED, REQUEUED, WAITING_FOR_REPLACEMENT_PODS, quota_reserved,
};
use kueue_lab_reason::resources::{Amount, FlavorName, ResourceName};
use kueue_lab_reason::{
    EvaluatedPodSet, FlavorReason, InadmissibleCause, InadmissibleReason, PendingEvictions,
    PendingFacts, PendingReason, PodSetReasons, PodSetShortage, TasFailure, WorkloadsAhead,
};

/// Why a pending workload is not admitted.
pub(super) fn pending_reason(
    wl: &WorkloadRow,
    data: &ClusterData,
    derived: &DerivedData,
) -> PendingReason {
    let condition = wl.conditions.when_false(QUOTA_RESERVED);
    let reason = condition.map_or("", |c| c.reason.as_str());
    let parsed = condition.map(|c| InadmissibleReason::parse(&c.message));
    let InadmissibleReason { cause, evictions } = parsed.unwrap_or_default();
    let not_nominated = pending_facts(wl, data, reason, cause.as_ref());
    if let Some(reason) = not_nominated.reason(data.now) {
        return reason;
    }
    if let Some(PendingEvictions::Preemption(targets)) = evictions {
        return PendingReason::PendingPreemption { targets };
    }
    match cause {
        Some(InadmissibleCause::NotAssigned { pod_sets }) => {
            not_assigned(wl, data, reason, &pod_sets)
        }
        Some(InadmissibleCause::DeferredFit) => PendingReason::DeferredFit,
        Some(InadmissibleCause::PreemptionGated) => PendingReason::PreemptionGated,
        None | Some(InadmissibleCause::PendingEvaluation | InadmissibleCause::Bypassed) => {
            not_evaluated(wl, data, derived)
        }
        Some(_) if reason == quota_reserved::PENDING_EVALUATION => not_evaluated(wl, data, derived),
        Some(cause) => PendingReason::Evaluated { cause },
    }
}

/// What decides whether a cycle evaluates a workload, with the reason and the cause of its
/// condition.
fn pending_facts<'a>(
    wl: &'a WorkloadRow,
    data: &ClusterData,
    reason: &str,
    cause: Option<&'a InadmissibleCause>,
) -> PendingFacts<'a> {
    use InadmissibleCause as C;
    let inadmissible = cause.filter(|cause| match cause {
        C::NamespaceNotFound { .. }
        | C::NamespaceMismatch
        | C::InvalidNamespaceSelector { .. }
        | C::InvalidResources { .. }
        | C::LimitRange { .. } => true,
        C::AssignmentFailed { error, .. } => error.is_permanent(),
        C::Other { .. } => reason == quota_reserved::MISCONFIGURED,
        _ => false,
    });
    let admission_gated_by = match cause {
        Some(C::AdmissionGated { by }) => Some(by.as_str()),
        _ => None,
    };
    let requeued = wl.conditions.when_false(REQUEUED);
    PendingFacts {
        queue_name: &wl.queue,
        active: wl.active,
        queue: queue_reason(wl, data, cause),
        inadmissible: inadmissible.cloned(),
        admission_gated_by,
        on_hold: reason == quota_reserved::ON_HOLD,
        waiting_for_replacement_pods: wl.conditions.is_true(WAITING_FOR_REPLACEMENT_PODS),
        requeue_at: wl.requeue_at,
        not_requeued: requeued.map(|requeued| requeued.reason.as_str()),
    }
}

/// What is wrong with the queue of a workload.
fn queue_reason(
    wl: &WorkloadRow,
    data: &ClusterData,
    cause: Option<&InadmissibleCause>,
) -> Option<PendingReason> {
    use InadmissibleCause as C;
    // A queue that cannot be read was there when the workload was evaluated.
    let was_evaluated = match cause {
        None
        | Some(
            C::LocalQueueNotFound { .. } | C::ClusterQueueNotFound { .. } | C::PendingEvaluation,
        ) => false,
        Some(_) => true,
    };
    let Some(lq) = data.local_queues.get(&wl.queue_key) else {
        let name = wl.queue.clone();
        return (!was_evaluated).then_some(PendingReason::LocalQueueNotFound { name });
    };
    if lq.stopped().is_some() {
        let name = wl.queue.clone();
        return Some(PendingReason::LocalQueueInactive { name });
    }
    let name = &lq.cluster_queue;
    let Some(cq) = data.cluster_queues.named(name) else {
        let name = name.clone();
        return (!was_evaluated).then_some(PendingReason::ClusterQueueNotFound { name });
    };
    let active = cq.conditions.get(ACTIVE);
    if let Some(active) = active.filter(|active| active.status == "False") {
        return Some(PendingReason::cluster_queue_inactive(name, &active.message));
    }
    let reasons = match (cq.stopped(), cause) {
        (Some(_), _) => vec!["is stopped".to_owned()],
        (None, Some(C::ClusterQueueInactive { .. })) => Vec::new(),
        (None, _) => return None,
    };
    let name = name.clone();
    Some(PendingReason::ClusterQueueInactive { name, reasons })
}

/// The reason of a workload whose pod sets got no flavors, with the reason of its condition.
fn not_assigned(
    wl: &WorkloadRow,
    data: &ClusterData,
    reason: &str,
    pod_sets: &[PodSetReasons],
) -> PendingReason {
    let queue = data.local_queues.get(&wl.queue_key);
    let queue = queue.and_then(|lq| data.cluster_queues.named(&lq.cluster_queue));
    let has_several = wl.pod_sets.len() > 1;
    let mut shortages = Vec::new();
    for PodSetReasons { name, reasons } in pod_sets {
        let row = wl.pod_sets.iter().find(|pod_set| pod_set.name == *name);
        let count = row.map_or(1, |row| row.count);
        let groups = FlavorGroups::of(queue, reasons);
        let topology_failure = topology_failure(data, queue, reason, reasons);
        let reasons: Vec<&FlavorReason> = reasons.iter().collect();
        let mut requests = groups.resources.clone();
        requests.extend(unavailable_resources(row, &reasons));
        let evaluated = EvaluatedPodSet {
            cluster_queue: queue.map_or("", |queue| &queue.meta.key.name),
            requests: &requests,
            count,
            least: row
                .and_then(|row| row.min_count)
                .unwrap_or(count)
                .min(count),
            reasons: &reasons,
            topology_failure: topology_failure
                .as_ref()
                .map(|(flavor, failure)| (flavor, *failure)),
            ignores_undeclared_resources: false,
        };
        let pod_set = has_several.then(|| name.clone());
        if let Some(reasons) = evaluated.permanent_reasons(|resource| groups.flavors_of(resource)) {
            return PendingReason::NeverFits { pod_set, reasons };
        }
        let shortage = evaluated.shortage();
        shortages.extend(shortage.map(|shortage| PodSetShortage { pod_set, shortage }));
    }
    PendingReason::Insufficient {
        pod_sets: shortages,
        preemption: None,
    }
}

/// The flavors of each resource of a ClusterQueue.
struct FlavorGroups {
    /// One amount of each resource: which of them a pod set requests is only known by its reasons.
    resources: Vec<(ResourceName, Amount)>,
    flavors: Vec<Vec<FlavorName>>,
}

impl FlavorGroups {
    /// Those of a ClusterQueue; without it, those that the reasons name.
    fn of(queue: Option<&ClusterQueueRow>, reasons: &[FlavorReason]) -> Self {
        let mut groups = FlavorGroups {
            resources: Vec::new(),
            flavors: Vec::new(),
        };
        let Some(queue) = queue else {
            let flavors = reasons.iter().filter_map(FlavorReason::flavor);
            groups.flavors.push(flavors.cloned().collect());
            let any = ResourceName::cpu();
            groups.resources.push((any, Amount::new(1)));
            return groups;
        };
        for (fr, _) in &queue.quotas {
            let resource = ResourceName::new(&fr.resource);
            let flavor = FlavorName::from(fr.flavor.as_str());
            let known = groups.resources.iter().position(|(r, _)| *r == resource);
            match known {
                Some(index) => groups.flavors[index].push(flavor),
                None => {
                    groups.resources.push((resource, Amount::new(1)));
                    groups.flavors.push(vec![flavor]);
                }
            }
        }
        groups
    }

    fn flavors_of(&self, resource: ResourceName) -> Option<&[FlavorName]> {
        let mut resources = self.resources.iter();
        let index = resources.position(|(r, _)| *r == resource)?;
        self.flavors.get(index).map(Vec::as_slice)
    }
}

/// The requests of resources that the ClusterQueue does not cover.
fn unavailable_resources(
    row: Option<&super::workload_row::PodSetRow>,
    reasons: &[&FlavorReason],
) -> Vec<(ResourceName, Amount)> {
    let resources = reasons.iter().filter_map(|reason| match reason {
        FlavorReason::ResourceUnavailable { resource } => Some(*resource),
        _ => None,
    });
    let requested = |resource: ResourceName| {
        let row = row?;
        let per_pod = row.per_pod.get(resource.as_str())?;
        let total = per_pod.times(row.count.into());
        let units = match resource.is_cpu() {
            true => total.times(1000).ceil(),
            false => total.ceil(),
        };
        Some(Amount::new(units))
    };
    resources
        .map(|resource| (resource, requested(resource).unwrap_or(Amount::new(1))))
        .collect()
}

/// The flavor in which a pod set has no topology assignment with all nodes free. A message has the
/// Topology, of which the ClusterQueue may have only one flavor.
fn topology_failure<'r>(
    data: &ClusterData,
    queue: Option<&ClusterQueueRow>,
    reason: &str,
    reasons: &'r [FlavorReason],
) -> Option<(FlavorName, &'r TasFailure)> {
    if reason != quota_reserved::TOPOLOGY_PLACEMENT_FAILED {
        return None;
    }
    let (topology, failure) = reasons.iter().find_map(|reason| match reason {
        FlavorReason::NoTopologyAssignment { failure } => match failure {
            TasFailure::NoFit(no_fit) => Some((&no_fit.topology, failure)),
            _ => None,
        },
        _ => None,
    })?;
    let flavors = queue?.quotas.iter().map(|(fr, _)| fr.flavor.as_str());
    let mut of_topology = flavors.filter(|flavor| {
        let row = data.flavors.named(flavor);
        row.is_some_and(|row| row.topology.as_ref() == Some(topology))
    });
    let flavor = of_topology.next()?;
    of_topology
        .all(|other| other == flavor)
        .then(|| (FlavorName::from(flavor), failure))
}

/// The reason of a workload that no cycle evaluated.
fn not_evaluated(wl: &WorkloadRow, data: &ClusterData, derived: &DerivedData) -> PendingReason {
    let position = derived.position(wl.key()).map(|position| position.number);
    let queue = data.local_queues.get(&wl.queue_key);
    let queue = queue.and_then(|lq| data.cluster_queues.named(&lq.cluster_queue));
    match (position, queue) {
        (Some(position), Some(queue)) if position > 1 && queue.is_strict_fifo() => {
            let head = derived.head(&queue.meta.key.name);
            PendingReason::BlockedByHead {
                behind: WorkloadsAhead {
                    first: head.map_or_else(String::new, |key| key.name.clone()),
                    count: position - 1,
                },
            }
        }
        (position, _) => PendingReason::NotEvaluated { position },
    }
}
