//! The states of the preemption gates: those of the spec, closed at first.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::ControllerContext;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::config::Feature;
use kueue_lab_api::v1beta2::{PreemptionGatePosition, PreemptionGateState, Workload};

/// Syncs the states of the preemption gates with the gates in the spec; returns the Workload with
/// them.
pub(super) async fn sync_preemption_gates(
    shared: &ControllerContext,
    wl: Arc<Workload>,
) -> kube::Result<Arc<Workload>> {
    if !shared
        .settings
        .enabled(Feature::MultiKueueOrchestratedPreemption)
    {
        return Ok(wl);
    }
    let now = shared.now();
    let sync = |wl: &mut Workload| sync_preemption_gate_states(wl, now);
    let written =
        workload_patching::patch_admission_status(shared, &wl, StatusApplyMode::Strict, sync)
            .await?;
    Ok(written.unwrap_or(wl))
}

/// Removes the states of gates that are not in the spec, and adds closed ones. True if a state
/// changed.
fn sync_preemption_gate_states(wl: &mut Workload, now: Timestamp) -> bool {
    let states = &mut wl.status.preemption_gates;
    let gates = &wl.spec.preemption_gates;
    let before = states.len();
    states.retain(|state| gates.iter().any(|gate| gate.name == state.name));
    let mut changed = states.len() != before;
    let known: BTreeSet<String> = states.iter().map(|state| state.name.clone()).collect();
    for gate in gates.iter().filter(|gate| !known.contains(&gate.name)) {
        states.push(PreemptionGateState {
            name: gate.name.clone(),
            position: PreemptionGatePosition::Closed,
            last_transition_time: Some(Time(now)),
        });
        changed = true;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn states_follow_the_gates_of_the_spec() {
        let wl = json!({
            "metadata": {"name": "w", "namespace": "n"},
            "spec": {"podSets": [], "preemptionGates": [{"name": "a"}, {"name": "b"}]},
            "status": {"preemptionGates": [
                {"name": "old", "position": "Closed"}, {"name": "b", "position": "Open"},
            ]},
        });
        let mut wl: Workload = serde_json::from_value(wl).unwrap();
        assert!(sync_preemption_gate_states(&mut wl, Timestamp::UNIX_EPOCH));
        let states = wl.status.preemption_gates.iter();
        let states: Vec<_> = states.map(|s| (s.name.as_str(), &s.position)).collect();
        assert_eq!(
            states,
            [
                ("b", &PreemptionGatePosition::Open),
                ("a", &PreemptionGatePosition::Closed)
            ]
        );
        assert!(!sync_preemption_gate_states(&mut wl, Timestamp::UNIX_EPOCH));
    }
}
