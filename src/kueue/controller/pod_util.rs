//! Scheduling gates and phase of a Pod, as upstream's `util/pod`.

use k8s_openapi::api::core::v1::{Pod, PodSpec};

/// The phase; empty if it is not set.
pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status
        .as_ref()
        .and_then(|s| s.phase.as_deref())
        .unwrap_or_default()
}

/// Whether the pod is Succeeded or Failed.
pub(crate) fn is_terminated(pod: &Pod) -> bool {
    matches!(phase(pod), "Failed" | "Succeeded")
}

/// Whether the pod has a scheduling gate.
pub(crate) fn has_gate(pod: &Pod, name: &str) -> bool {
    let mut gates = pod
        .spec
        .iter()
        .flat_map(|s| s.scheduling_gates.iter().flatten());
    gates.any(|gate| gate.name == name)
}

/// Removes a scheduling gate.
pub(crate) fn ungate(spec: &mut PodSpec, name: &str) {
    if let Some(gates) = &mut spec.scheduling_gates {
        gates.retain(|gate| gate.name != name);
    }
}
