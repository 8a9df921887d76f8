//! Quota reservation: the admission and the QuotaReserved condition.

use jiff::Timestamp;

use super::admitted_condition::sync_admitted_condition;
use super::conditions::condition;
use crate::feature_gates::Gates;
use crate::workload::predicates;
use kueue_lab_api::conditions::set_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{Admission, Workload};

/// Sets the admission and the QuotaReserved condition, and resets the conditions of the last
/// eviction.
pub fn set_quota_reservation(wl: &mut Workload, admission: Admission, now: Timestamp) {
    let message = format!("Quota reserved in ClusterQueue {}", admission.cluster_queue);
    wl.status.admission = Some(admission);
    let reason = c::QUOTA_RESERVED;
    let reserved = condition(wl, c::QUOTA_RESERVED, true, reason, message, now);
    set_condition(&mut wl.status.conditions, reserved);
    for type_ in [c::EVICTED, c::PREEMPTED, c::BLOCKED_ON_PREEMPTION_GATES] {
        if let Some(active) = predicates::true_condition(wl, type_) {
            let message = format!("Previously: {}", active.message);
            let reset = condition(wl, type_, false, reason, message, now);
            set_condition(&mut wl.status.conditions, reset);
        }
    }
}

/// Removes the admission, or sets the reason why there is none. True when anything changed.
pub fn unset_quota_reservation(
    wl: &mut Workload,
    reason: &str,
    message: &str,
    now: Timestamp,
    gates: &Gates,
) -> bool {
    let cond = condition(wl, c::QUOTA_RESERVED, false, reason, message, now);
    let mut changed = set_condition(&mut wl.status.conditions, cond);
    changed |= wl.status.admission.take().is_some();
    changed | sync_admitted_condition(wl, now, gates)
}

/// Releases the quota of an evicted Workload whose pods are deleted. `requeued` is whether it is
/// requeued immediately. True when anything changed.
pub fn release_evicted(
    wl: &mut Workload,
    reason: &str,
    message: &str,
    requeued: bool,
    now: Timestamp,
    gates: &Gates,
) -> bool {
    let pending = match gates.unadmitted_workloads_observability {
        true => c::quota_reserved::PENDING_EVALUATION,
        false => c::quota_reserved::PENDING,
    };
    let cond = condition(wl, c::REQUEUED, requeued, reason, message, now);
    let changed = set_condition(&mut wl.status.conditions, cond);
    unset_quota_reservation(wl, pending, message, now, gates) || changed
}
