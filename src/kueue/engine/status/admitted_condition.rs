//! The Admitted condition.

use jiff::Timestamp;

use super::conditions::condition;
use crate::feature_gates::Gates;
use crate::workload::predicates;
use kueue_lab_api::conditions::set_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// Syncs the Admitted condition with quota reservation, admission checks and delayed topology
/// requests, and accumulates the admitted time. True when anything changed.
pub fn sync_admitted_condition(wl: &mut Workload, now: Timestamp, gates: &Gates) -> bool {
    let reserved = predicates::has_quota_reservation(wl);
    let checked = predicates::has_all_checks_ready(wl);
    let placed = !predicates::has_topology_assignments_pending(wl);
    let was_admitted = predicates::is_admitted(wl);
    let granular = gates.unadmitted_workloads_observability;
    if granular {
        // Without a QuotaReserved condition there is no Admitted condition either.
        let without_conditions =
            wl.condition(c::QUOTA_RESERVED).is_none() && wl.condition(c::ADMITTED).is_none();
        if without_conditions && !gates.unadmitted_workloads_explicit_status {
            return false;
        }
    } else if was_admitted == (reserved && checked && placed) {
        return false;
    }
    let no_reservation = (
        c::admitted::NO_RESERVATION,
        "The workload has no reservation",
    );
    let not_admitted = match (reserved, checked, placed) {
        (true, true, true) => None,
        (false, false, _) if !granular => Some((
            c::admitted::NO_RESERVATION_UNSATISFIED_CHECKS,
            "The workload has no reservation and not all checks ready",
        )),
        (false, _, _) => Some(no_reservation),
        (true, false, _) => Some((
            if granular {
                c::admitted::UNSATISFIED_ADMISSION_CHECKS
            } else {
                c::admitted::UNSATISFIED_CHECKS
            },
            "The workload has not all checks ready",
        )),
        (true, true, false) => Some((
            c::admitted::PENDING_DELAYED_TOPOLOGY_REQUESTS,
            "There are pending delayed topology requests",
        )),
    };
    if not_admitted.is_some()
        && let Some(admitted) = predicates::true_condition(wl, c::ADMITTED)
    {
        let seconds = now
            .duration_since(admitted.last_transition_time.0)
            .as_secs();
        let past = wl
            .status
            .accumulated_past_execution_time_seconds
            .unwrap_or(0);
        let total = i64::from(past).saturating_add(seconds);
        wl.status.accumulated_past_execution_time_seconds =
            Some(total.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32);
    }
    let (reason, message) = not_admitted.unwrap_or((c::ADMITTED, "The workload is admitted"));
    let cond = condition(
        wl,
        c::ADMITTED,
        not_admitted.is_none(),
        reason,
        message,
        now,
    );
    set_condition(&mut wl.status.conditions, cond)
}
