//! Whether a DaemonSet's pod should run on a node: node selector, required node affinity and
//! taints. Pure.

use k8s_openapi::api::core::v1::{Node, PodSpec};
use kube::ResourceExt;

use kueue_lab_component_helpers::node_affinity::RequiredNodeAffinity;
use kueue_lab_component_helpers::toleration::{ComparisonOperators, tolerations_tolerate_taint};

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
    let name = node.name_any();
    let affinity = RequiredNodeAffinity::of(spec);
    let accepted = affinity.matches(&name, node.labels()) == Ok(true);
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
            && !tolerations_tolerate_taint(tolerations.iter(), t, ComparisonOperators::Disabled)
    });
    accepted && !untolerated && named.is_none_or(|n| n == name)
}
