//! The verdict on a pending workload: facts of the engine to a [`PendingReason`].

use jiff::Timestamp;

use super::quota_reserved_condition::QueueInadmissibleReason;
use super::{Engine, Explanation};
use crate::cycle::{Decision, EntryStatus, PodSetDecision};
use crate::flavor_assigner::{FlavorAssignmentAttempt, FlavorAssignmentMode};
use crate::resources::{Amount, ResourceName};
use crate::workload::{WorkloadKey, predicates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_reason::{
    EvaluatedPodSet, FlavorReason, InadmissibleCause, PendingFacts, PendingReason, PendingVerdict,
    PendingVerdictKind, PermanentReason, PodSetShortage, Shortage, WorkloadsAhead,
};

/// The most preemption targets that a verdict names.
const MAX_TARGETS: usize = 3;

impl Engine {
    /// The verdict on an explained pending workload, with the decisions for the least number of pods and without any usage if it
    /// does not fit, and the `first` of its queue; none when it reserves quota or is finished.
    pub(super) fn pending_verdict(
        &self,
        wl: &Workload,
        explanation: &Explanation,
        of_least: Option<&Decision>,
        without_usage: Option<&Decision>,
        first: Option<&WorkloadKey>,
        now: Timestamp,
    ) -> Option<PendingVerdict> {
        if predicates::has_quota_reservation(wl) || predicates::is_finished(wl) {
            return None;
        }
        let facts = self.pending_facts(wl, explanation.blocker.as_ref());
        let not_evaluated = facts.reason(now);
        // The end of a backoff does not admit a workload that never fits.
        let reason = not_evaluated
            .clone()
            .filter(|reason| reason.kind() != PendingVerdictKind::Waits)
            .or_else(|| self.never_fits(wl, without_usage?))
            .or(not_evaluated)
            .or_else(|| self.reason_of_decision(wl, explanation, of_least, first))
            .unwrap_or(PendingReason::NotEvaluated { position: None });
        Some(reason.into())
    }

    /// What decides whether a cycle evaluates a workload.
    fn pending_facts<'w>(
        &self,
        wl: &'w Workload,
        blocker: Option<&QueueInadmissibleReason>,
    ) -> PendingFacts<'w> {
        let gates = &self.config.gates;
        let by = predicates::annotation(wl, c::ADMISSION_GATED_BY_ANNOTATION);
        let state = wl.status.requeue_state.as_ref();
        let requeue_at = state.and_then(|state| state.requeue_at.as_ref());
        let requeued = predicates::false_condition(wl, c::REQUEUED);
        PendingFacts {
            queue_name: &wl.spec.queue_name,
            active: wl.spec.is_active(),
            queue: self.queue_reason(wl, blocker),
            inadmissible: self.inadmissible_cause(wl),
            admission_gated_by: predicates::has_admission_gate(wl, gates)
                .then(|| by.unwrap_or_default()),
            on_hold: predicates::is_on_hold(wl),
            waiting_for_replacement_pods: wl.is_condition_true(c::WAITING_FOR_REPLACEMENT_PODS),
            requeue_at: requeue_at.map(|at| at.0),
            not_requeued: requeued.map(|requeued| requeued.reason.as_str()),
        }
    }

    /// What is wrong with the queue of a workload.
    fn queue_reason(
        &self,
        wl: &Workload,
        blocker: Option<&QueueInadmissibleReason>,
    ) -> Option<PendingReason> {
        // The Active condition can be older than the cycle of Cohorts.
        let queue = self.cluster_queue_of(wl).map(|(queue, _)| queue);
        let cycle = queue.and_then(|queue| self.cohort_cycle(queue));
        let cycle = cycle.map(|cycle| cycle.to_string());
        let name = match blocker.map(|blocker| &blocker.cause) {
            Some(InadmissibleCause::LocalQueueNotFound { name }) => {
                return Some(PendingReason::LocalQueueNotFound { name: name.clone() });
            }
            Some(InadmissibleCause::LocalQueueInactive { name }) => {
                return Some(PendingReason::LocalQueueInactive { name: name.clone() });
            }
            Some(InadmissibleCause::ClusterQueueNotFound { name }) => {
                return Some(PendingReason::ClusterQueueNotFound { name: name.clone() });
            }
            Some(InadmissibleCause::ClusterQueueInactive { name }) => name,
            Some(cause) => {
                let cause = cause.clone();
                return Some(PendingReason::Inadmissible { cause });
            }
            None => {
                let reasons = vec![cycle?];
                let name = queue?.to_string();
                return Some(PendingReason::ClusterQueueInactive { name, reasons });
            }
        };
        let active = self.active_condition(name).message;
        let mut reason = PendingReason::cluster_queue_inactive(name, &active);
        if let PendingReason::ClusterQueueInactive { reasons, .. } = &mut reason {
            reasons.extend(cycle);
        }
        Some(reason)
    }

    /// The reason of a workload from its decision as the only head.
    fn reason_of_decision(
        &self,
        wl: &Workload,
        explanation: &Explanation,
        of_least: Option<&Decision>,
        first: Option<&WorkloadKey>,
    ) -> Option<PendingReason> {
        let decision = explanation.now.as_ref()?;
        let cause = decision.inadmissible.cause.as_ref();
        if let Some(InadmissibleCause::AssignmentFailed { error, .. }) = cause
            && error.is_permanent()
        {
            let cause = cause?.clone();
            return Some(PendingReason::Inadmissible { cause });
        }
        let pod_sets = self.pod_set_shortages(wl, decision, of_least.unwrap_or(decision));
        let ahead = explanation.position.filter(|&ahead| ahead > 0);
        // The workloads before it in its queue.
        let behind = ahead.zip(first).map(|(count, first)| WorkloadsAhead {
            first: first.to_string(),
            count,
        });
        if decision.status == EntryStatus::PreemptionGated {
            return Some(PendingReason::PreemptionGated);
        }
        // In the last cycle another head took the quota, or reserved it as the head of a StrictFIFO queue.
        let last = explanation.last.as_ref();
        let skipped = last.filter(|last| last.status == EntryStatus::Skipped);
        let skipped = skipped.and_then(|last| last.inadmissible.cause.clone());
        Some(match decision.mode {
            Some(FlavorAssignmentMode::Fit) => match (skipped, &explanation.inadmissible) {
                (_, Some(inadmissible)) => PendingReason::AwaitsRequeue {
                    inadmissible: inadmissible.clone(),
                    behind,
                },
                (Some(cause), None) if behind.is_none() => PendingReason::Evaluated { cause },
                (_, None) => PendingReason::Fits { behind },
            },
            Some(FlavorAssignmentMode::DeferredFit) => PendingReason::DeferredFit,
            Some(FlavorAssignmentMode::Preempt) if !decision.victims.is_empty() => {
                let targets = decision.victims.iter().take(MAX_TARGETS);
                let targets: Vec<String> = targets.map(|t| t.workload.to_string()).collect();
                PendingReason::NeedsPreemption {
                    more: decision.victims.len() - targets.len(),
                    targets,
                    behind,
                }
            }
            _ => {
                let preemption = decision.shortage.clone();
                if pod_sets.is_empty() && preemption.is_none() {
                    let cause = cause?.clone();
                    return Some(PendingReason::Evaluated { cause });
                }
                PendingReason::Insufficient {
                    pod_sets,
                    preemption,
                }
            }
        })
    }

    /// What the pod sets lack that do not fit by a decision. With partial admission, `least` is the decision on the least
    /// number of pods, and what these lack is reported.
    pub(super) fn pod_set_shortages(
        &self,
        wl: &Workload,
        decision: &Decision,
        least: &Decision,
    ) -> Vec<PodSetShortage> {
        let mut shortages = Vec::new();
        for pod_set in &least.pod_sets {
            let shortage = self.topology_shortage(least, pod_set);
            let all = decision.pod_sets.iter().find(|p| p.name == pod_set.name);
            let all = all.map_or(pod_set.count, |all| all.count);
            let shortage = shortage.or_else(|| self.shortage(least, pod_set, all));
            shortages.extend(shortage.map(|shortage| PodSetShortage {
                pod_set: pod_set_name(wl, pod_set),
                shortage,
            }));
        }
        shortages
    }

    /// The reason that a flavor with quota has no topology assignment, and the flavors before it that
    /// are not preempted in for its sake.
    fn topology_shortage(&self, decision: &Decision, pod_set: &PodSetDecision) -> Option<Shortage> {
        let failure = pod_set.topology_failure.as_ref()?;
        let queue = self.cache.cluster_queue(&decision.cluster_queue)?;
        let mut groups = queue.groups.iter();
        let group = groups.find(|group| group.flavors.contains(&failure.flavor))?;
        let before = group.flavors.iter().take_while(|f| **f != failure.flavor);
        let attempts = before.filter_map(|f| pod_set.attempts.iter().find(|a| a.flavor == *f));
        let preempting = attempts
            .filter(|attempt| attempt.mode == FlavorAssignmentMode::Preempt)
            .filter(|_| queue.fungibility.try_next_if_preempting);
        Some(Shortage::Topology {
            flavor: failure.flavor.clone(),
            failure: failure.reason.clone(),
            not_preempted_in: preempting.map(|attempt| attempt.flavor.clone()).collect(),
        })
    }

    /// Why a workload does not fit without any usage; none if it does.
    fn never_fits(&self, wl: &Workload, without_usage: &Decision) -> Option<PendingReason> {
        if matches!(
            without_usage.mode,
            None | Some(FlavorAssignmentMode::Fit | FlavorAssignmentMode::DeferredFit)
        ) {
            return None;
        }
        let pod_sets = || without_usage.pod_sets.iter();
        let permanent = pod_sets().find_map(|pod_set| {
            let reasons = self.permanent_reasons(wl, without_usage, pod_set)?;
            Some((pod_set, reasons))
        });
        let (pod_set, reasons) = permanent.or_else(|| {
            let pod_set = pod_sets().find(|pod_set| !pod_set.reasons.is_empty())?;
            let reasons = pod_set.reasons.iter().cloned();
            let reasons = reasons.map(|reason| PermanentReason::Mismatch { reason });
            Some((pod_set, reasons.collect()))
        })?;
        let pod_set = pod_set_name(wl, pod_set);
        Some(PendingReason::NeverFits { pod_set, reasons })
    }

    /// The reasons that a pod set can never be assigned a flavor.
    fn permanent_reasons(
        &self,
        wl: &Workload,
        decision: &Decision,
        pod_set: &PodSetDecision,
    ) -> Option<Vec<PermanentReason>> {
        let queue = self.cache.cluster_queue(&decision.cluster_queue)?;
        let requests = pod_set.requests.iter();
        let requests: Vec<(ResourceName, Amount)> = requests.map(|(r, a)| (r, a.into())).collect();
        let reasons = reasons_of(pod_set);
        let failure = pod_set.topology_failure.as_ref();
        let evaluated = EvaluatedPodSet {
            cluster_queue: &decision.cluster_queue,
            requests: &requests,
            count: pod_set.count,
            least: least_count(wl, pod_set),
            reasons: &reasons,
            topology_failure: failure.map(|failure| (&failure.flavor, &failure.reason)),
            ignores_undeclared_resources: self.config.ignores_undeclared_resources(),
        };
        evaluated.permanent_reasons(|resource| {
            let group = queue.resource_group_for(resource)?;
            Some(group.flavors.as_slice())
        })
    }

    /// What a pod set lacks in the flavor that lacks the fewest resources. `all` is its number of pods, of which the decision
    /// may be on fewer.
    fn shortage(
        &self,
        decision: &Decision,
        pod_set: &PodSetDecision,
        all: i32,
    ) -> Option<Shortage> {
        if pod_set.reasons.is_empty() {
            return None;
        }
        let missing = pod_set.attempts.iter();
        let missing = missing.flat_map(|attempt| self.missing_quota(decision, attempt));
        let missing: Vec<FlavorReason> = missing.collect();
        let other = reasons_of(pod_set).into_iter().filter(|reason| {
            !matches!(
                reason,
                FlavorReason::InsufficientUnusedQuota { .. }
                    | FlavorReason::InsufficientQuota { .. }
            )
        });
        let reasons: Vec<&FlavorReason> = missing.iter().chain(other).collect();
        let evaluated = |reasons: &[&FlavorReason]| {
            let evaluated = EvaluatedPodSet {
                cluster_queue: &decision.cluster_queue,
                requests: &[],
                count: pod_set.count,
                least: pod_set.count,
                reasons,
                topology_failure: None,
                ignores_undeclared_resources: false,
            };
            evaluated.shortage()
        };
        match evaluated(&reasons) {
            Some(Shortage::Quota { missing, .. }) => Some(Shortage::Quota {
                missing,
                pods: (pod_set.count < all).then_some((pod_set.count, all)),
            }),
            _ => evaluated(&reasons_of(pod_set)),
        }
    }

    /// The quota that a pod set lacks in a flavor, with the usage above the quota that the
    /// ClusterQueue can use, which a release must cover first.
    fn missing_quota(
        &self,
        decision: &Decision,
        attempt: &FlavorAssignmentAttempt,
    ) -> Vec<FlavorReason> {
        let reasons = attempt.resources.iter().filter_map(|quota| {
            let flavor = attempt.flavor.clone();
            let resource = quota.resource;
            if quota.requested.plus(quota.taken_before) > quota.capacity {
                return Some(FlavorReason::InsufficientQuota {
                    flavor,
                    resource,
                    taken_before: quota.taken_before,
                    requested: quota.requested.value(),
                    capacity: quota.capacity,
                });
            }
            quota.missing.is_positive().then(|| {
                let excess = self.excess_usage(decision, &attempt.flavor, resource);
                FlavorReason::InsufficientUnusedQuota {
                    flavor,
                    resource,
                    missing: quota.missing.plus(excess),
                }
            })
        });
        reasons.collect()
    }

    /// The usage above the quota that a ClusterQueue can use.
    fn excess_usage(&self, decision: &Decision, flavor: &str, resource: ResourceName) -> Amount {
        let hierarchy = &self.cache.hierarchy;
        let node = self.cache.node_of(&decision.cluster_queue);
        let fr = hierarchy.frs.get(flavor, resource);
        let available = node.zip(fr).map(|(node, fr)| hierarchy.available(node, fr));
        Amount::ZERO.minus(available.unwrap_or_default()).or_zero()
    }
}

/// The reasons of the attempts of a pod set, and its others.
fn reasons_of(pod_set: &PodSetDecision) -> Vec<&FlavorReason> {
    let attempts = pod_set.attempts.iter();
    let mut reasons: Vec<&FlavorReason> = attempts.flat_map(|a| &a.reasons).collect();
    let other = pod_set.reasons.iter();
    let other = other.filter(|reason| !reasons.contains(reason));
    let other: Vec<&FlavorReason> = other.collect();
    reasons.extend(other);
    reasons
}

/// The number of pods of a pod set below which it cannot be admitted.
fn least_count(wl: &Workload, pod_set: &PodSetDecision) -> i32 {
    let spec = wl.spec.pod_sets.iter().find(|ps| ps.name == pod_set.name);
    let least = spec.and_then(|ps| ps.min_count);
    least.unwrap_or(pod_set.count).min(pod_set.count)
}

/// The name of a pod set, if there are several.
fn pod_set_name(wl: &Workload, pod_set: &PodSetDecision) -> Option<String> {
    (wl.spec.pod_sets.len() > 1).then(|| pod_set.name.clone())
}
