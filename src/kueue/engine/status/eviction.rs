//! Eviction: the Evicted and Preempted conditions, admission checks and statistics.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::Serialize;

use super::conditions::condition;
use kueue_lab_api::conditions::set_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{
    AdmissionCheckState, CheckState, PreemptionGatePosition, Workload,
    WorkloadSchedulingStatsEviction,
};

/// The reason of an eviction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Eviction {
    /// The reason in the scheduling statistics.
    pub reason: String,
    /// The underlying cause of a deactivation; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// The message.
    pub message: String,
}

impl Eviction {
    /// An eviction without underlying cause.
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        Eviction {
            reason: reason.to_owned(),
            cause: String::new(),
            message: message.into(),
        }
    }

    fn has_cause(&self) -> bool {
        self.reason == c::evicted::DEACTIVATED && !self.cause.is_empty()
    }

    /// The reason of the Evicted condition.
    pub fn condition_reason(&self) -> String {
        if self.has_cause() {
            format!("{}DueTo{}", self.reason, self.cause)
        } else {
            self.reason.clone()
        }
    }

    /// The reason of the Event.
    pub fn event_reason(&self) -> String {
        let mut reason = format!("{}DueTo{}", c::EVICTED, self.reason);
        if self.has_cause() {
            reason = format!("{reason}DueTo{}", self.cause);
        }
        reason
    }
}

/// Sets the Evicted condition, resets the admission checks and counts the eviction. The quota is
/// released later, when the pods are gone. True when it is the first eviction with this reason.
pub fn evict(wl: &mut Workload, eviction: &Eviction, now: Timestamp) -> bool {
    let reason = eviction.condition_reason();
    let cond = condition(wl, c::EVICTED, true, &reason, &eviction.message, now);
    set_condition(&mut wl.status.conditions, cond);
    wl.status.cluster_name = None;
    wl.status.nominated_cluster_names.clear();
    for check in &mut wl.status.admission_checks {
        reset_check(check, now);
    }
    wl.status.unhealthy_nodes.clear();
    if wl.is_condition_true(c::BLOCKED_ON_PREEMPTION_GATES) {
        let type_ = c::BLOCKED_ON_PREEMPTION_GATES;
        let cond = condition(wl, type_, false, &reason, &eviction.message, now);
        set_condition(&mut wl.status.conditions, cond);
    }
    for gate in &mut wl.status.preemption_gates {
        gate.position = PreemptionGatePosition::Closed;
        gate.last_transition_time = Some(Time(now));
    }
    increment_eviction_stats(wl, eviction)
}

fn reset_check(check: &mut AdmissionCheckState, now: Timestamp) {
    if check.state == CheckState::Pending {
        return;
    }
    let retried = check.state == CheckState::Retry;
    *check = AdmissionCheckState {
        name: std::mem::take(&mut check.name),
        state: CheckState::Pending,
        message: format!(
            "Reset to Pending after eviction. Previously: {}",
            check.state.as_str()
        ),
        last_transition_time: Some(Time(now)),
        requeue_after_seconds: check.requeue_after_seconds,
        retry_count: retried.then(|| check.retry_count.unwrap_or(0).saturating_add(1)),
        pod_set_updates: Vec::new(),
    };
}

fn increment_eviction_stats(wl: &mut Workload, eviction: &Eviction) -> bool {
    let evictions = &mut wl.status.scheduling_stats.get_or_insert_default().evictions;
    let known = evictions
        .iter_mut()
        .find(|e| e.reason == eviction.reason && e.underlying_cause == eviction.cause);
    match known {
        Some(known) => {
            known.count = known.count.saturating_add(1);
            known.count == 1
        }
        None => {
            evictions.push(WorkloadSchedulingStatsEviction {
                reason: eviction.reason.clone(),
                underlying_cause: eviction.cause.clone(),
                count: 1,
            });
            true
        }
    }
}

/// Sets the Preempted condition.
pub(crate) fn set_preempted(
    wl: &mut Workload,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> bool {
    // Without observedGeneration, unlike the other conditions.
    let cond = Condition {
        observed_generation: None,
        ..condition(wl, c::PREEMPTED, true, reason, message, now)
    };
    set_condition(&mut wl.status.conditions, cond)
}
