//! Predicates of pods that topology-aware scheduling places.

use k8s_openapi::api::core::v1::Pod;

use crate::pod_util::has_gate;
use kueue_lab_api::constants as c;

/// An annotation, also one with an empty value.
pub(super) fn annotation<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata
        .annotations
        .as_ref()?
        .get(key)
        .map(String::as_str)
}

pub(super) fn is_tas_pod(pod: &Pod) -> bool {
    let keys = [
        c::POD_SET_REQUIRED_TOPOLOGY_ANNOTATION,
        c::POD_SET_PREFERRED_TOPOLOGY_ANNOTATION,
        c::POD_SET_UNCONSTRAINED_TOPOLOGY_ANNOTATION,
        c::POD_SET_SLICE_REQUIRED_TOPOLOGY_ANNOTATION,
        c::POD_SET_SLICE_SIZE_ANNOTATION,
    ];
    keys.iter().any(|key| annotation(pod, key).is_some())
}

/// Whether a pod has the topology scheduling gate.
pub(super) fn has_topology_gate(pod: &Pod) -> bool {
    has_gate(pod, c::TOPOLOGY_SCHEDULING_GATE)
}
