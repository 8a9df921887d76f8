//! Which nodes suit a pod that is to be on every node that does: by node selector, required node
//! affinity and taints. Pure.

use k8s_openapi::api::core::v1::{
    Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration,
};
use kube::ResourceExt;

/// Taints of nodes in trouble, which pods of DaemonSets bear.
pub(super) const DAEMON_TOLERATIONS: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// Whether a pod of that template belongs on the node.
pub(super) fn should_run_on_node(spec: &PodSpec, node: &Node) -> bool {
    let labels = node.labels();
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
    let accepted = required.is_none_or(|r| r.node_selector_terms.iter().any(|t| is_met(t, node)));
    let named = spec.node_name.as_deref().filter(|n| !n.is_empty());
    let taints = node
        .spec
        .as_ref()
        .and_then(|s| s.taints.as_deref())
        .unwrap_or_default();
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let repelled = taints
        .iter()
        .any(|t| t.effect != "PreferNoSchedule" && !is_tolerated(t, tolerations));
    selected && accepted && !repelled && named.is_none_or(|n| n == node.name_any())
}

fn is_tolerated(taint: &Taint, tolerations: &[Toleration]) -> bool {
    let always = DAEMON_TOLERATIONS.contains(&(taint.key.as_str(), taint.effect.as_str()));
    always
        || tolerations.iter().any(|t| {
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            let (key, effect) = (text(&t.key), text(&t.effect));
            let exists = t.operator.as_deref() == Some("Exists");
            (key == taint.key || key.is_empty() && exists)
                && (effect.is_empty() || effect == taint.effect)
                && (exists || text(&t.value) == text(&taint.value))
        })
}

fn is_met(term: &NodeSelectorTerm, node: &Node) -> bool {
    let labels = node.labels();
    let name = node.name_any();
    let by_label = term.match_expressions.iter().flatten();
    let by_field = term.match_fields.iter().flatten();
    let mut asked = false;
    let mut met = true;
    for requirement in by_label {
        asked = true;
        met &= requirement_met(
            requirement,
            labels.get(&requirement.key).map(String::as_str),
        );
    }
    for requirement in by_field {
        asked = true;
        met &= requirement.key == "metadata.name" && requirement_met(requirement, Some(&name));
    }
    // A term that asks nothing is met by no node.
    asked && met
}

fn requirement_met(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = requirement.values.as_deref().unwrap_or_default();
    let listed = || value.is_some_and(|v| values.iter().any(|wanted| wanted == v));
    let number = |text: &str| text.parse::<i64>().ok();
    let compare = |greater: bool| {
        let (Some(have), Some(limit)) = (
            value.and_then(number),
            values.first().and_then(|v| number(v)),
        ) else {
            return false;
        };
        if greater { have > limit } else { have < limit }
    };
    match requirement.operator.as_str() {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compare(true),
        "Lt" => compare(false),
        _ => false,
    }
}
