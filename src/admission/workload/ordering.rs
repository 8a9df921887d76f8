//! Priority of a Workload and the time that orders it among equals.

use jiff::{SignedDuration, Timestamp};

use super::predicates::{annotation, true_condition};
use crate::config::{EngineConfig, RequeuingTimestamp};
use crate::feature_gates::Gates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// What decides whether one Workload goes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOrderKey {
    /// The effective priority.
    pub priority: i64,
    /// The time that orders it among its priority.
    pub queue_timestamp: Timestamp,
}

/// The priority the Workload asks for, before any boost.
pub fn base_priority(wl: &Workload) -> i32 {
    wl.spec.priority.unwrap_or(c::DEFAULT_PRIORITY)
}

/// The priority that orders the Workload: what it asks for plus the boost annotation. A boost that
/// is not a 32-bit number counts as none.
pub fn effective_priority(wl: &Workload, gates: &Gates) -> i64 {
    let boost = if gates.priority_boost {
        annotation(wl, c::PRIORITY_BOOST_ANNOTATION).and_then(|v| v.parse::<i32>().ok())
    } else {
        None
    };
    i64::from(base_priority(wl)) + i64::from(boost.unwrap_or(0))
}

/// When the Workload was created; the distant past when unset.
pub fn creation(wl: &Workload) -> Timestamp {
    wl.metadata
        .creation_timestamp
        .as_ref()
        .map_or(ZERO_TIME, |t| t.0)
}

/// The time an object without one stands for: the zero time of Go, 1 January of the year 1.
pub const ZERO_TIME: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// The time that orders the Workload among others of its priority: its creation, except that one
/// evicted because its pods did not become ready, or by an admission check, stands where it was
/// evicted.
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
