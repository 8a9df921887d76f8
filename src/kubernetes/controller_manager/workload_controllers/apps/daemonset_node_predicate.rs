//! Whether a DaemonSet's pod should run on a node: node selector, required node affinity and
//! taints. Pure.

use k8s_openapi::api::core::v1::{Node, PodSpec};
use kube::ResourceExt;

use kueue_lab_component_helpers::selector::node_term;
use kueue_lab_component_helpers::taint_toleration::tolerated;

/// Taints that pods of DaemonSets tolerate.
pub(super) const DAEMON_TOLERATIONS: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// Whether a pod with this spec should run on the node.
pub(super) fn should_run_on_node(spec: &PodSpec, node: &Node) -> bool {
    let labels = node.labels();
    let name = node.name_any();
    let selector = spec.node_selector.iter().flatten();
    let selected = selector.fold(true, |all, (key, value)| {
        all && labels.get(key) == Some(value)
    });
    let affinity = spec
        .affinity
        .as_ref()
        .and_then(|a| a.node_affinity.as_ref());
    let required = affinity.and_then(|a| {
        a.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    let accepted = required.is_none_or(|r| {
        r.node_selector_terms
            .iter()
            .any(|t| node_term(t, &name, labels))
    });
    let named = spec.node_name.as_deref().filter(|n| !n.is_empty());
    let taints = node
        .spec
        .as_ref()
        .and_then(|s| s.taints.as_deref())
        .unwrap_or_default();
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let untolerated = taints.iter().any(|t| {
        t.effect != "PreferNoSchedule"
            && !DAEMON_TOLERATIONS.contains(&(t.key.as_str(), t.effect.as_str()))
            && !tolerated(tolerations, t)
    });
    selected && accepted && !untolerated && named.is_none_or(|n| n == name)
}
