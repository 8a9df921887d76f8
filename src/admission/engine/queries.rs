//! What status, the visibility API and people ask of the engine.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::{Engine, order_context};
use crate::cache::{ActiveCondition, CacheError, ClusterQueueUsageStats, LocalQueueUsageStats};
use crate::feature_gates::Gates;
use crate::kube::label_selector::Selector;
use crate::workload::predicates;
use crate::workload::validate_admissibility::validate_admissibility;
use crate::workload::{LocalQueueKey, WorkloadKey};
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::v1beta2::{StopPolicy, Workload};

/// Pending workloads of a ClusterQueue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PendingCounts {
    /// Those waiting for their turn.
    pub active: usize,
    /// Those that are parked until something changes.
    pub inadmissible: usize,
}

/// A pending workload with its place in the queues.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingPosition {
    /// The workload.
    pub workload: Arc<Workload>,
    /// Its place in the ClusterQueue, from 0.
    pub in_cluster_queue: usize,
    /// Its place in the LocalQueue, from 0.
    pub in_local_queue: usize,
}

/// Why the queue of a workload keeps it from being looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueInadmissibleReason {
    /// The reason for the QuotaReserved condition.
    pub reason: &'static str,
    /// The message.
    pub message: String,
}

impl Engine {
    /// The Active condition of a ClusterQueue.
    pub fn active_condition(&self, queue: &str) -> ActiveCondition {
        self.cache.active_condition(queue, &self.config)
    }

    /// How many workloads wait in front of a ClusterQueue.
    pub fn pending_counts(&self, queue: &str) -> Option<PendingCounts> {
        let (active, inadmissible) = self.queues.cluster_queue(queue)?.counts();
        Some(PendingCounts {
            active,
            inadmissible,
        })
    }

    /// How many workloads wait in a LocalQueue; none when it is stopped or not there.
    pub fn local_queue_pending(&self, key: &LocalQueueKey) -> Option<usize> {
        Some(self.queues.local_queue(key)?.pending())
    }

    /// What the workloads of a ClusterQueue hold.
    ///
    /// # Errors
    /// When it is not there.
    pub fn cluster_queue_usage(
        &mut self,
        queue: &str,
    ) -> Result<ClusterQueueUsageStats, CacheError> {
        self.cache.cluster_queue_usage(queue, &self.config)
    }

    /// What the workloads of a LocalQueue hold.
    ///
    /// # Errors
    /// When its ClusterQueue does not count for it.
    pub fn local_queue_usage(
        &self,
        queue: &str,
        key: &LocalQueueKey,
    ) -> Result<LocalQueueUsageStats, CacheError> {
        self.cache.local_queue_usage(queue, key, &self.config)
    }

    /// The weighted share of a cohort.
    ///
    /// # Errors
    /// When it is not there.
    pub fn cohort_weighted_share(&mut self, cohort: &str) -> Result<i64, CacheError> {
        self.cache.cohort_weighted_share(cohort)
    }

    /// Whether a ClusterQueue holds no quota for anybody, so that it may be deleted.
    pub fn is_cluster_queue_empty(&self, queue: &str) -> bool {
        let members = self
            .cache
            .cluster_queue(queue)
            .map(|q| q.reserving_workloads());
        members.is_none_or(<[_]>::is_empty)
    }

    /// The pending workloads of a ClusterQueue in the order they would be tried, from `offset` on,
    /// at most `limit`. None when the ClusterQueue is not there.
    pub fn pending_positions(
        &self,
        queue: &str,
        offset: usize,
        limit: usize,
    ) -> Option<Vec<PendingPosition>> {
        let pending = self.queues.cluster_queue(queue)?;
        let mut in_local_queue: HashMap<LocalQueueKey, usize> = HashMap::new();
        let all = pending.in_order(order_context!(self)).into_iter();
        let positions = all.enumerate().take(offset.saturating_add(limit));
        let positions = positions.map(|(in_cluster_queue, info)| {
            let next = in_local_queue.entry(info.local_queue.clone()).or_default();
            let in_local_queue = *next;
            *next += 1;
            PendingPosition {
                workload: info.obj.clone(),
                in_cluster_queue,
                in_local_queue,
            }
        });
        Some(positions.skip(offset).collect())
    }

    /// The ClusterQueue a workload is submitted to, by its LocalQueue; none when that is stopped
    /// or not there.
    pub fn cluster_queue_of(&self, wl: &Workload) -> Option<(&Arc<str>, bool)> {
        self.queues
            .cluster_queue_of(&predicates::local_queue_key(wl))
    }

    /// Whether a workload is to stand for variants of itself: its ClusterQueue says so, and it is none
    /// itself.
    pub fn is_concurrent_admission_parent(&self, wl: &Workload) -> bool {
        self.queues
            .is_concurrent_admission_parent(wl, self.order_context())
    }

    /// Why a pending workload is passed over without being looked at, if it is: one like it was
    /// found not to fit.
    pub fn no_fit_reason(&self, wl: &Workload) -> Option<&'static str> {
        let (queue, exists) = self.cluster_queue_of(wl)?;
        let pending = self.queues.cluster_queue(queue).filter(|_| exists)?;
        Some(pending.no_fit_reason(&predicates::key(wl))?.as_str())
    }

    /// Why the queue of a workload keeps it from being looked at.
    pub fn queue_inadmissible_reason(&self, wl: &Workload) -> Option<QueueInadmissibleReason> {
        let blocker = |reason, message| Some(QueueInadmissibleReason { reason, message });
        let name = &wl.spec.queue_name;
        let Some(lq) = self
            .store
            .local_queues
            .get(&predicates::local_queue_key(wl))
        else {
            return blocker(q::MISCONFIGURED, format!("LocalQueue {name} doesn't exist"));
        };
        if lq.spec.stop_policy() != StopPolicy::None {
            return blocker(q::SUSPENDED, format!("LocalQueue {name} is inactive"));
        }
        let queue = &lq.spec.cluster_queue;
        if !self.store.cluster_queues.contains_key(queue) {
            return blocker(
                q::MISCONFIGURED,
                format!("ClusterQueue {queue} doesn't exist"),
            );
        }
        let active = self
            .cache
            .cluster_queue(queue)
            .is_some_and(|q| q.is_active());
        if !active {
            return blocker(q::SUSPENDED, format!("ClusterQueue {queue} is inactive"));
        }
        None
    }

    /// Reason and message that the QuotaReserved condition of a workload without quota should
    /// have; none when nothing is to be said yet.
    pub fn quota_reserved_false_condition(&self, wl: &Workload) -> Option<(String, String)> {
        let gates = &self.config.gates;
        let blocker = || {
            self.queue_inadmissible_reason(wl)
                .map(|b| (b.reason.to_owned(), b.message))
        };
        if !gates.unadmitted_workloads_observability {
            return blocker().map(|(_, message)| (q::INADMISSIBLE.to_owned(), message));
        }
        let known = wl.condition(c::QUOTA_RESERVED);
        let as_is = || known.map(|cond| (cond.reason.clone(), cond.message.clone()));
        if !wl.spec.is_active() {
            let message = "The workload is deactivated";
            return Some((c::evicted::DEACTIVATED.to_owned(), message.to_owned()));
        }
        if predicates::is_on_hold(wl) {
            return as_is();
        }
        if let Some(blocker) = blocker() {
            return Some(blocker);
        }
        if let Some(error) = self.inadmissible_error(wl) {
            return Some((q::MISCONFIGURED.to_owned(), error));
        }
        if predicates::has_admission_gate(wl, gates) {
            let by = predicates::annotation(wl, c::ADMISSION_GATED_BY_ANNOTATION);
            let message = format!("Admission is gated by: {}", by.unwrap_or_default());
            return Some((q::ADMISSION_GATED.to_owned(), message));
        }
        let reason = known.map(|cond| cond.reason.as_str());
        if can_bypass_evaluation(reason, gates)
            && let Some(reason) = self.no_fit_reason(wl)
        {
            let message =
                "Bypassed scheduling evaluation because an equivalent workload recently failed";
            return Some((reason.to_owned(), message.to_owned()));
        }
        if reason.is_some_and(is_set_by_scheduler) {
            return as_is();
        }
        if known.is_none() && !gates.unadmitted_workloads_explicit_status {
            return None;
        }
        let message = "Workload is pending evaluation in the scheduling queue";
        Some((q::PENDING_EVALUATION.to_owned(), message.to_owned()))
    }

    /// What keeps a workload from being admitted whatever the quota.
    fn inadmissible_error(&self, wl: &Workload) -> Option<String> {
        let lq = self
            .store
            .local_queues
            .get(&predicates::local_queue_key(wl))?;
        let cq = self.store.cluster_queues.get(&lq.spec.cluster_queue)?;
        let selector = match Selector::from_api(cq.spec.namespace_selector.as_ref()) {
            Ok(selector) => selector,
            Err(error) => return Some(format!("invalid namespace selector: {error}")),
        };
        let checked = validate_admissibility(wl, &selector, &self.cluster_objects);
        checked.err().map(|e| e.to_string())
    }

    /// Where a pending workload stands: whether it waits for its turn, is parked, or is in the
    /// hands of the scheduler; none when it is in no queue.
    pub fn pending_state(&self, key: &WorkloadKey) -> Option<PendingState> {
        let wl = self.store.workload(key)?;
        let (queue, _) = self.cluster_queue_of(wl)?;
        let pending = self.queues.cluster_queue(queue)?;
        if pending.active(key).is_some() {
            Some(PendingState::Active)
        } else if pending.inadmissible(key).is_some() {
            Some(PendingState::Inadmissible)
        } else {
            pending.is_inflight(key).then_some(PendingState::Inflight)
        }
    }
}

/// Where a pending workload stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum PendingState {
    /// It waits for its turn.
    Active,
    /// It is parked until something changes.
    Inadmissible,
    /// The scheduler has it in hand.
    Inflight,
}

/// Whether the condition of a workload says too little to keep it when one like it was found not
/// to fit.
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

/// Whether the scheduler gave this reason, which stands until it looks again.
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
