//! Reason and message of the QuotaReserved condition of a pending workload.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Engine;
use crate::feature_gates::Gates;
use crate::workload::predicates;
use crate::workload::validate_admissibility::validate_admissibility;
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::v1beta2::{StopPolicy, Workload};
use kueue_lab_component_helpers::label_selector::Selector;
use kueue_lab_reason::InadmissibleCause as Cause;

/// The reason that the queue of a workload makes it inadmissible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueInadmissibleReason {
    /// The reason for the QuotaReserved condition.
    pub reason: Cow<'static, str>,
    /// The cause.
    pub cause: Cause,
}

impl Engine {
    /// The reason why a pending workload is inadmissible without evaluation, if it is: a workload
    /// with the same scheduling hash did not fit.
    pub fn no_fit_reason(&self, wl: &Workload) -> Option<&'static str> {
        let (queue, exists) = self.cluster_queue_of(wl)?;
        let pending = self.queues.cluster_queue(queue).filter(|_| exists)?;
        Some(pending.no_fit_reason(&predicates::key(wl))?.as_str())
    }

    /// The reason that the queue of a workload makes it inadmissible.
    pub(crate) fn queue_inadmissible_reason(
        &self,
        wl: &Workload,
    ) -> Option<QueueInadmissibleReason> {
        let blocker = |reason: &'static str, cause| {
            Some(QueueInadmissibleReason {
                reason: reason.into(),
                cause,
            })
        };
        let Some(lq) = self
            .store
            .local_queues
            .get(&predicates::local_queue_key(wl))
        else {
            let name = wl.spec.queue_name.clone();
            return blocker(q::MISCONFIGURED, Cause::LocalQueueNotFound { name });
        };
        if lq.spec.stop_policy() != StopPolicy::None {
            let name = wl.spec.queue_name.clone();
            return blocker(q::SUSPENDED, Cause::LocalQueueInactive { name });
        }
        let queue = &lq.spec.cluster_queue;
        if !self.store.cluster_queues.contains_key(queue) {
            let name = queue.clone();
            return blocker(q::MISCONFIGURED, Cause::ClusterQueueNotFound { name });
        }
        let active = self
            .cache
            .cluster_queue(queue)
            .is_some_and(|q| q.is_active());
        if !active {
            let name = queue.clone();
            return blocker(q::SUSPENDED, Cause::ClusterQueueInactive { name });
        }
        None
    }

    /// Reason and message of the QuotaReserved condition of a workload without quota; none when the
    /// condition is not set yet.
    pub fn quota_reserved_false_condition(&self, wl: &Workload) -> Option<(String, String)> {
        let gates = &self.config.gates;
        let condition = |reason: &str, cause: Cause| {
            Some((reason.to_owned(), cause.message(&self.config.formatter)))
        };
        let blocker = || {
            let blocker = self.queue_inadmissible_reason(wl)?;
            condition(&blocker.reason, blocker.cause)
        };
        if !gates.unadmitted_workloads_observability {
            return blocker().map(|(_, message)| (q::INADMISSIBLE.to_owned(), message));
        }
        let known = wl.condition(c::QUOTA_RESERVED);
        let current_condition = || known.map(|cond| (cond.reason.clone(), cond.message.clone()));
        if !wl.spec.is_active() {
            return condition(c::evicted::DEACTIVATED, Cause::Deactivated);
        }
        if predicates::is_on_hold(wl) {
            return current_condition();
        }
        if let Some(blocker) = blocker() {
            return Some(blocker);
        }
        if let Some(cause) = self.inadmissible_cause(wl) {
            return condition(q::MISCONFIGURED, cause);
        }
        if predicates::has_admission_gate(wl, gates) {
            let by = predicates::annotation(wl, c::ADMISSION_GATED_BY_ANNOTATION);
            let by = by.unwrap_or_default().to_owned();
            return condition(q::ADMISSION_GATED, Cause::AdmissionGated { by });
        }
        let reason = known.map(|cond| cond.reason.as_str());
        if can_bypass_evaluation(reason, gates)
            && let Some(reason) = self.no_fit_reason(wl)
        {
            return condition(reason, Cause::Bypassed);
        }
        if reason.is_some_and(is_set_by_scheduler) {
            return current_condition();
        }
        if known.is_none() && !gates.unadmitted_workloads_explicit_status {
            return None;
        }
        condition(q::PENDING_EVALUATION, Cause::PendingEvaluation)
    }

    /// The reason that a workload is inadmissible regardless of quota.
    pub(super) fn inadmissible_cause(&self, wl: &Workload) -> Option<Cause> {
        let lq = self
            .store
            .local_queues
            .get(&predicates::local_queue_key(wl))?;
        let cq = self.store.cluster_queues.get(&lq.spec.cluster_queue)?;
        let selector = match Selector::from_api(cq.spec.namespace_selector.as_ref()) {
            Ok(selector) => selector,
            Err(error) => {
                let error = error.to_string();
                return Some(Cause::InvalidNamespaceSelector { error });
            }
        };
        validate_admissibility(wl, &selector, &self.cluster_objects).err()
    }
}

/// Whether the reason of the condition may be replaced when the workload is inadmissible by its
/// scheduling hash.
fn can_bypass_evaluation(reason: Option<&str>, gates: &Gates) -> bool {
    gates.scheduling_equivalence_hashing
        && match reason {
            None => gates.unadmitted_workloads_explicit_status,
            Some(reason) => [
                "",
                c::evicted::DEACTIVATED,
                q::PENDING_EVALUATION,
                q::SUSPENDED,
                q::PENDING,
            ]
            .contains(&reason),
        }
}

/// Whether the scheduler sets this reason; it stays until the next evaluation.
fn is_set_by_scheduler(reason: &str) -> bool {
    [
        q::NO_MATCHING_FLAVOR,
        q::EXCEEDS_MAX_QUOTA,
        q::WAITING_FOR_QUOTA,
        q::TOPOLOGY_PLACEMENT_FAILED,
        q::WAITING_FOR_PREEMPTED_WORKLOADS,
        q::WAITING_FOR_PODS_READY,
        q::PENDING_EVALUATION,
    ]
    .contains(&reason)
}
