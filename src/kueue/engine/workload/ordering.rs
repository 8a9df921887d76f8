//! Priority and queue order timestamp of a Workload.

use jiff::{SignedDuration, Timestamp};

use super::predicates::{annotation, true_condition};
use crate::config::{EngineConfig, RequeuingTimestamp};
use crate::feature_gates::Gates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// The queue order of a Workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOrderKey {
    /// The effective priority.
    pub priority: i64,
    /// The queue order timestamp, which orders equal priorities.
    pub queue_timestamp: Timestamp,
}

/// The priority of the Workload without boost.
pub fn base_priority(wl: &Workload) -> i32 {
    wl.spec.priority.unwrap_or(c::DEFAULT_PRIORITY)
}

/// The priority of the Workload plus its priority boost annotation. An annotation that is not a
/// 32-bit integer is ignored.
pub fn effective_priority(wl: &Workload, gates: &Gates) -> i64 {
    let boost = if gates.priority_boost {
        annotation(wl, c::PRIORITY_BOOST_ANNOTATION).and_then(|v| v.parse::<i32>().ok())
    } else {
        None
    };
    i64::from(base_priority(wl)) + i64::from(boost.unwrap_or(0))
}

/// The creation timestamp of the Workload; the minimum when unset.
pub fn creation(wl: &Workload) -> Timestamp {
    wl.metadata
        .creation_timestamp
        .as_ref()
        .map_or(ZERO_TIME, |t| t.0)
}

/// The zero time of Go, 1 January of the year 1.
pub(crate) const ZERO_TIME: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// The queue order timestamp: the creation, or the eviction if an admission check or, as
/// configured, the PodsReady timeout evicted the Workload.
pub fn queue_order_timestamp(wl: &Workload, config: &EngineConfig) -> Timestamp {
    if let Some(evicted) = true_condition(wl, c::EVICTED) {
        let by_timeout = config.requeuing_timestamp == RequeuingTimestamp::Eviction
            && evicted.reason == c::evicted::PODS_READY_TIMEOUT;
        if by_timeout || evicted.reason == c::evicted::ADMISSION_CHECK {
            return evicted.last_transition_time.0;
        }
    }
    if !config.gates.priority_sorting_within_cohort
        && let Some(preempted) = true_condition(wl, c::PREEMPTED)
        && preempted.reason == c::preempted::IN_COHORT_RECLAIM_WHILE_BORROWING
    {
        // Just after the preemptor.
        let time = preempted.last_transition_time.0;
        return time
            .saturating_add(SignedDuration::from_millis(1))
            .unwrap_or(time);
    }
    creation(wl)
}
