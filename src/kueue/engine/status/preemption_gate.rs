//! Preemption gates of a Workload: their states, and the BlockedOnPreemptionGates condition.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::conditions::condition;
use kueue_lab_api::conditions::set_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{PreemptionGatePosition, PreemptionGateState, Workload};

/// Opens a preemption gate.
pub fn open_preemption_gate(wl: &mut Workload, name: &str, now: Timestamp) {
    let gates = &mut wl.status.preemption_gates;
    gates.retain(|gate| gate.name != name);
    gates.push(PreemptionGateState {
        name: name.to_owned(),
        position: PreemptionGatePosition::Open,
        last_transition_time: Some(Time(now)),
    });
}

/// Sets the BlockedOnPreemptionGates condition. True when anything changed.
pub(crate) fn set_blocked_on_preemption_gates(
    wl: &mut Workload,
    message: &str,
    now: Timestamp,
) -> bool {
    let reason = c::PREEMPTION_GATED;
    let cond = condition(
        wl,
        c::BLOCKED_ON_PREEMPTION_GATES,
        true,
        reason,
        message,
        now,
    );
    set_condition(&mut wl.status.conditions, cond)
}
