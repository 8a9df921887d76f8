//! [`PendingVerdict`]: whether a pending workload can ever be admitted as it is, and its blocker.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::quota_reserved_condition::QueueInadmissibleReason;
use super::{Engine, Explanation};
use crate::cycle::{Decision, PodSetDecision};
use crate::flavor_assigner::{FlavorAssignmentAttempt, FlavorAssignmentMode, ResourceAttempt};
use crate::resources::{Amount, ResourceFormatter, ResourceName};
use crate::workload::{WorkloadKey, predicates};
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::list_names;
use kueue_lab_api::v1beta2::Workload;

/// The kind of a [`PendingVerdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PendingVerdictKind {
    /// Not admissible unless the workload or the queue changes, even without any usage.
    Never,
    /// Held until a user or a controller releases it.
    Held,
    /// Waits for quota, for workloads before it in the queue, or for preempted workloads.
    Waits,
}

/// The verdict on a pending workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingVerdict {
    /// Its kind.
    pub kind: PendingVerdictKind,
    /// The blocker, with the missing amounts.
    pub text: String,
}

impl PendingVerdict {
    pub(super) fn never(text: impl Into<String>) -> Self {
        PendingVerdict {
            kind: PendingVerdictKind::Never,
            text: text.into(),
        }
    }

    fn held(text: impl Into<String>) -> Self {
        PendingVerdict {
            kind: PendingVerdictKind::Held,
            text: text.into(),
        }
    }

    fn waits(text: impl Into<String>) -> Self {
        PendingVerdict {
            kind: PendingVerdictKind::Waits,
            text: text.into(),
        }
    }
}

impl std::fmt::Display for PendingVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            PendingVerdictKind::Never => "never",
            PendingVerdictKind::Held => "held",
            PendingVerdictKind::Waits => "waits",
        };
        write!(f, "{kind}: {}", self.text)
    }
}

impl Engine {
    /// The verdict on an explained pending workload, with the decision without any usage if it does not fit, and the
    /// `first` of its queue; none when it reserves quota or is finished.
    pub(super) fn pending_verdict(
        &self,
        wl: &Workload,
        explanation: &Explanation,
        without_usage: Option<&Decision>,
        first: Option<&WorkloadKey>,
        now: Timestamp,
    ) -> Option<PendingVerdict> {
        if predicates::has_quota_reservation(wl) || predicates::is_finished(wl) {
            return None;
        }
        let verdict = self.verdict_without_evaluation(wl, explanation.blocker.as_ref(), now);
        // The end of a backoff does not admit a workload that never fits.
        let verdict = verdict
            .clone()
            .filter(|verdict| verdict.kind != PendingVerdictKind::Waits)
            .or_else(|| self.never_fits(wl, without_usage?))
            .or(verdict)
            .or_else(|| self.verdict_of_decision(wl, explanation, first));
        Some(verdict.unwrap_or_else(|| PendingVerdict::waits("not evaluated yet")))
    }

    /// The verdict on a workload that is not nominated.
    fn verdict_without_evaluation(
        &self,
        wl: &Workload,
        blocker: Option<&QueueInadmissibleReason>,
        now: Timestamp,
    ) -> Option<PendingVerdict> {
        if wl.spec.queue_name.is_empty() {
            return Some(PendingVerdict::never("it names no LocalQueue"));
        }
        if !wl.spec.is_active() {
            return Some(PendingVerdict::held("spec.active is false"));
        }
        if let Some(blocker) = blocker {
            return Some(match &*blocker.reason {
                q::MISCONFIGURED => PendingVerdict::never(&blocker.message),
                _ => PendingVerdict::held(self.with_inactive_reason(wl, &blocker.message)),
            });
        }
        // The Active condition can be older than the cycle.
        let queue = self.cluster_queue_of(wl).map(|(queue, _)| queue);
        if let Some((queue, cycle)) =
            queue.and_then(|queue| Some((queue, self.cohort_cycle(queue)?)))
        {
            let text = format!("ClusterQueue {queue} is inactive: {cycle}");
            return Some(PendingVerdict::held(text));
        }
        if let Some(error) = self.inadmissible_error(wl) {
            return Some(PendingVerdict::never(error));
        }
        if predicates::has_admission_gate(wl, &self.config.gates) {
            let by = predicates::annotation(wl, c::ADMISSION_GATED_BY_ANNOTATION);
            let text = format!("admission is gated by {}", by.unwrap_or_default());
            return Some(PendingVerdict::held(text));
        }
        if predicates::is_on_hold(wl) {
            return Some(PendingVerdict::held("its job is on hold"));
        }
        if wl.is_condition_true(c::WAITING_FOR_REPLACEMENT_PODS) {
            let text = "it waits for replacement pods: WaitingForReplacementPods is True";
            return Some(PendingVerdict::held(text));
        }
        let state = wl.status.requeue_state.as_ref();
        let backoff = state.and_then(|state| state.requeue_at.as_ref());
        if let Some(at) = backoff.filter(|at| at.0 > now) {
            let text = format!("its requeue backoff ends at {}", at.0);
            return Some(PendingVerdict::waits(text));
        }
        // The workload is not queued while the condition is False. The controller changes only
        // these reasons.
        let requeued = predicates::false_condition(wl, c::REQUEUED)?;
        match requeued.reason.as_str() {
            c::evicted::DEACTIVATED
            | c::evicted::PODS_READY_TIMEOUT
            | c::evicted::ADMISSION_CHECK => None,
            reason => Some(PendingVerdict::held(format!(
                "its condition Requeued is False with the reason {reason}, which Kueue does not change"
            ))),
        }
    }

    /// The message of a blocker, and why its ClusterQueue is inactive, if it is.
    fn with_inactive_reason(&self, wl: &Workload, message: &str) -> String {
        let queue = self.cluster_queue_of(wl).map(|(queue, _)| queue);
        let queue = queue.filter(|queue| message.starts_with(&format!("ClusterQueue {queue} ")));
        let Some(queue) = queue else {
            return message.to_owned();
        };
        // Other messages are not about why it is inactive.
        let active = self.active_condition(queue).message;
        let reason = active.strip_prefix("Can't admit new workloads");
        let reason = reason.map(|reason| reason.trim_matches([':', ';', ' ', '.']).to_owned());
        let cycle = self.cohort_cycle(queue).map(|cycle| cycle.to_string());
        let reason = reason
            .filter(|reason| !reason.is_empty())
            .into_iter()
            .chain(cycle);
        let reason: Vec<String> = reason.collect();
        match reason.is_empty() {
            true => message.to_owned(),
            false => format!("{message}: {}", reason.join("; ")),
        }
    }

    /// The verdict on a workload that does not fit without any usage.
    fn never_fits(&self, wl: &Workload, without_usage: &Decision) -> Option<PendingVerdict> {
        if matches!(
            without_usage.mode,
            None | Some(FlavorAssignmentMode::Fit | FlavorAssignmentMode::DeferredFit)
        ) {
            return None;
        }
        let pod_sets = || without_usage.pod_sets.iter();
        let in_pod_set = |pod_set, text: &str| in_pod_set(wl, pod_set, text);
        let permanent = pod_sets().find_map(|pod_set| {
            let least = least_count(wl, pod_set);
            let texts = self.permanent_failures(without_usage, pod_set, least)?;
            Some(in_pod_set(pod_set, &texts.join("; ")))
        });
        let text = permanent.unwrap_or_else(|| {
            let texts = pod_sets().filter(|pod_set| !pod_set.reasons.is_empty());
            let texts: Vec<String> = texts
                .map(|pod_set| in_pod_set(pod_set, &pod_set.reasons.join(", ")))
                .collect();
            match texts.is_empty() {
                true => without_usage.message.clone(),
                false => texts.join("; "),
            }
        });
        Some(PendingVerdict::never(text))
    }

    /// The usage above the quota that a ClusterQueue can use, which a release must cover first.
    fn excess_usage(&self, decision: &Decision, flavor: &str, resource: ResourceName) -> Amount {
        let hierarchy = &self.cache.hierarchy;
        let node = self.cache.node_of(&decision.cluster_queue);
        let fr = hierarchy.frs.get(flavor, resource);
        let available = node.zip(fr).map(|(node, fr)| hierarchy.available(node, fr));
        Amount::ZERO.minus(available.unwrap_or_default()).or_zero()
    }

    /// The verdict on a workload from its decision as the only head.
    fn verdict_of_decision(
        &self,
        wl: &Workload,
        explanation: &Explanation,
        first: Option<&WorkloadKey>,
    ) -> Option<PendingVerdict> {
        let decision = explanation.now.as_ref()?;
        let formatter = &self.config.formatter;
        let ahead = explanation.position.filter(|&ahead| ahead > 0);
        // The workloads before it in its queue.
        let behind = ahead
            .zip(first)
            .map(|(ahead, first)| format!("behind {first} ({ahead} ahead)"));
        let text = match decision.mode {
            Some(FlavorAssignmentMode::Fit) => match behind {
                Some(behind) => format!("it fits, {behind}"),
                None => "it fits, the next cycle evaluates it".to_owned(),
            },
            Some(FlavorAssignmentMode::DeferredFit) => {
                "it fits once the preempted workloads release their quota".to_owned()
            }
            Some(FlavorAssignmentMode::Preempt) if !decision.victims.is_empty() => {
                let names = decision.victims.iter();
                let names: Vec<String> = names.map(|victim| victim.workload.to_string()).collect();
                let text = format!("it needs the quota of {}", list_names(&names, 3));
                match behind {
                    Some(behind) => format!("{text}; {behind}"),
                    None => text,
                }
            }
            _ => {
                let texts = decision.pod_sets.iter().filter_map(|ps| {
                    let text = self.topology_shortage(decision, ps);
                    let text = text.or_else(|| {
                        let excess =
                            |flavor: &str, resource| self.excess_usage(decision, flavor, resource);
                        shortage(ps, least_count(wl, ps), excess, formatter)
                    })?;
                    Some(in_pod_set(wl, ps, &text))
                });
                let shortage = decision.shortage.as_ref();
                let texts: Vec<String> = texts
                    .chain(shortage.map(|shortage| shortage.text(formatter)))
                    .collect();
                match texts.is_empty() {
                    true if decision.message.is_empty() => return None,
                    true => decision.message.clone(),
                    false => texts.join("; "),
                }
            }
        };
        Some(PendingVerdict::waits(text))
    }

    /// The reason that a flavor with quota has no topology assignment, and the flavors before it that
    /// are not preempted in for its sake.
    fn topology_shortage(&self, decision: &Decision, pod_set: &PodSetDecision) -> Option<String> {
        let failure = pod_set.topology_failure.as_ref()?;
        let queue = self.cache.cluster_queue(&decision.cluster_queue)?;
        let mut groups = queue.groups.iter();
        let group = groups.find(|group| group.flavors.contains(&failure.flavor))?;
        let before = group.flavors.iter().take_while(|f| **f != failure.flavor);
        let attempts = before.filter_map(|f| pod_set.attempts.iter().find(|a| a.flavor == *f));
        let preempting: Vec<&str> = attempts
            .filter(|attempt| attempt.mode == FlavorAssignmentMode::Preempt)
            .map(|attempt| &*attempt.flavor)
            .collect();
        let mut text = format!("{} with all nodes free", failure.reason);
        if queue.fungibility.try_next_if_preempting && !preempting.is_empty() {
            text.push_str(&format!(
                "; {} has unused quota, so nothing is preempted in {} \
                 (flavorFungibility.whenCanPreempt is TryNextFlavor)",
                failure.flavor,
                preempting.join(", ")
            ));
        }
        Some(text)
    }

    /// The reason that a pod set can never fit, if it cannot: a resource without quota, or a
    /// resource group with no flavor that it could be assigned without any usage of quota and
    /// nodes.
    fn permanent_failures(
        &self,
        decision: &Decision,
        pod_set: &PodSetDecision,
        least: i32,
    ) -> Option<Vec<String>> {
        let queue = self.cache.cluster_queue(&decision.cluster_queue)?;
        let formatter = &self.config.formatter;
        for (resource, amount) in pod_set.requests.iter().filter(|(_, amount)| *amount > 0) {
            let Some(group) = queue.resource_group_for(resource) else {
                if self.config.ignores_undeclared_resources() {
                    continue;
                }
                let amount = formatter.text(resource, amount);
                let queue = &decision.cluster_queue;
                return Some(vec![format!(
                    "{amount} {resource}, for which ClusterQueue {queue} has no quota"
                )]);
            };
            let mut texts = Vec::new();
            let attempts = &pod_set.attempts;
            for flavor in &group.flavors {
                let attempt = attempts.iter().find(|attempt| attempt.flavor == *flavor);
                let failure = attempt.and_then(|attempt| {
                    permanent_failure(attempt, pod_set.count, least, formatter)
                        .or_else(|| topology_failure(pod_set, flavor, least))
                });
                match failure {
                    Some(text) => texts.push(text),
                    None => {
                        texts.clear();
                        break;
                    }
                }
            }
            if !texts.is_empty() {
                return Some(texts);
            }
        }
        None
    }
}

/// The number of pods of a pod set below which it cannot be admitted.
fn least_count(wl: &Workload, pod_set: &PodSetDecision) -> i32 {
    let spec = wl.spec.pod_sets.iter().find(|ps| ps.name == pod_set.name);
    let least = spec.and_then(|ps| ps.min_count);
    least.unwrap_or(pod_set.count).min(pod_set.count)
}

/// A text with the pod set it is about, if there are several.
fn in_pod_set(wl: &Workload, pod_set: &PodSetDecision, text: &str) -> String {
    match wl.spec.pod_sets.len() {
        1 => text.to_owned(),
        _ => format!("pod set {}: {text}", pod_set.name),
    }
}

/// The reason that a flavor can never be assigned, with `least` of `count` pods.
fn permanent_failure(
    attempt: &FlavorAssignmentAttempt,
    count: i32,
    least: i32,
    formatter: &ResourceFormatter,
) -> Option<String> {
    if attempt.mismatch.is_some() {
        return Some(attempt.reasons.join(", "));
    }
    let exceeds = attempt.resources.iter().find_map(|resource| {
        let total = least_total(resource, count, least);
        let exceeds = total > resource.capacity;
        exceeds.then_some((resource, total))
    });
    exceeds.map(|(resource, total)| {
        format!(
            "{} {} > maximum {} in {}",
            formatter.amount_text(resource.resource, total),
            resource.resource,
            formatter.amount_text(resource.resource, resource.capacity),
            attempt.flavor
        )
    })
}

/// The reason that a flavor has no topology assignment even without usage, with all pods.
fn topology_failure(pod_set: &PodSetDecision, flavor: &str, least: i32) -> Option<String> {
    let failure = pod_set.topology_failure.as_ref();
    let failure = failure.filter(|failure| *failure.flavor == *flavor);
    let reason = &failure.filter(|_| least >= pod_set.count)?.reason;
    Some(format!("{reason} with all nodes free"))
}

/// The request of `least` of `count` pods, with those of earlier pod sets.
fn least_total(resource: &ResourceAttempt, count: i32, least: i32) -> Amount {
    if least >= count || count <= 0 {
        return resource.requested.plus(resource.taken_before);
    }
    let requested = resource.requested.value() / i64::from(count) * i64::from(least);
    resource.taken_before.plus(requested.into())
}

/// The smallest shortage of a pod set: the missing amounts in the flavor that lacks the fewest
/// resources, with the `excess` usage above quota.
fn shortage(
    pod_set: &PodSetDecision,
    least: i32,
    excess: impl Fn(&str, ResourceName) -> Amount,
    formatter: &ResourceFormatter,
) -> Option<String> {
    let is_partial = least < pod_set.count;
    let missing = |attempt: &FlavorAssignmentAttempt| -> Vec<(ResourceName, Amount)> {
        let all = attempt.resources.iter();
        let missing = all.map(|resource| match is_partial {
            true => {
                let total = least_total(resource, pod_set.count, least).value();
                let missing = total.saturating_sub(resource.available.value());
                (resource.resource, missing.into())
            }
            false => (resource.resource, resource.missing),
        });
        let missing = missing.filter(|(_, amount)| amount.is_positive());
        let mut missing: Vec<(ResourceName, Amount)> = missing
            .map(|(resource, amount)| (resource, amount.plus(excess(&attempt.flavor, resource))))
            .collect();
        missing.sort_by_key(|(resource, _)| resource.as_str());
        missing
    };
    let possible = pod_set.attempts.iter().filter(|attempt| {
        let mut resources = attempt.resources.iter();
        attempt.mismatch.is_none()
            && resources.all(|r| least_total(r, pod_set.count, least) <= r.capacity)
    });
    let short = possible
        .map(|attempt| (attempt, missing(attempt)))
        .filter(|(_, missing)| !missing.is_empty())
        .min_by_key(|(_, missing)| missing.len());
    let Some((attempt, missing)) = short else {
        let reasons = &pod_set.reasons;
        return (!reasons.is_empty()).then(|| reasons.join(", "));
    };
    let texts = missing.into_iter().map(|(resource, amount)| {
        let amount = formatter.amount_text(resource, amount);
        format!("{amount} more {resource} in {}", attempt.flavor)
    });
    let text = texts.collect::<Vec<_>>().join(", ");
    Some(match is_partial {
        true => format!("{text} for {least} of {} pods", pod_set.count),
        false => text,
    })
}
