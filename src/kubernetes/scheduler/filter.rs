//! Filter plugins in kube-scheduler's order; the first failure counts.

use std::collections::BTreeMap;

use super::dynamic_resources::NodeAllocations;
use super::fit_error::FilterFailure;
use super::inter_pod_affinity::InterPodAffinity;
use super::pod_topology_spread::PodTopologySpread;
use super::{NodeInfo, PodInfo};
use kueue_lab_component_helpers::resource_amounts::PODS;
use kueue_lab_component_helpers::toleration::{
    ComparisonOperators, find_matching_untolerated_taint, tolerations_tolerate_taint,
};

/// All nodes by name.
pub(super) type Nodes = BTreeMap<String, NodeInfo>;

/// The taint of a cordoned node.
const UNSCHEDULABLE_TAINT: &str = "node.kubernetes.io/unschedulable";

/// A pod with the pre-filter state of all nodes.
#[derive(Clone)]
pub(super) struct Filter<'a> {
    pub(super) pod: &'a PodInfo,
    pub(super) spread: PodTopologySpread<'a>,
    pub(super) inter_pod_affinity: InterPodAffinity<'a>,
    /// The claims of the pod, if it needs some.
    claims: Option<&'a NodeAllocations<'a>>,
}

impl<'a> Filter<'a> {
    /// Computes the pre-filter state of a pod.
    pub(super) fn new<'n>(
        pod: &'a PodInfo,
        nodes: impl Iterator<Item = &'n NodeInfo> + Clone,
        any_pod_has_anti_affinity: bool,
    ) -> Self {
        Self {
            pod,
            spread: PodTopologySpread::new(pod, nodes.clone()),
            inter_pod_affinity: InterPodAffinity::new(pod, nodes, any_pod_has_anti_affinity),
            claims: None,
        }
    }

    /// The filter with the claims of the pod.
    pub(super) fn with_claims(self, claims: Option<&'a NodeAllocations<'a>>) -> Self {
        Self { claims, ..self }
    }

    /// Updates the state for a pod that is added to a node, as upstream's `AddPod`.
    pub(super) fn add_pod(&mut self, other: &PodInfo, node: &NodeInfo) {
        self.count_pod(other, node, 1);
    }

    /// Updates the state for a pod that is removed from a node, as upstream's `RemovePod`.
    pub(super) fn remove_pod(&mut self, other: &PodInfo, node: &NodeInfo) {
        self.count_pod(other, node, -1);
    }

    fn count_pod(&mut self, other: &PodInfo, node: &NodeInfo, number: i64) {
        let others = std::iter::once(other);
        self.spread.count_pods(self.pod, others, node, number);
        self.inter_pod_affinity
            .count_pod(self.pod, other, node, number);
    }

    /// The first filter failure of the pod on this node.
    pub(super) fn check(&self, node: &NodeInfo) -> Option<FilterFailure> {
        let pod = self.pod;
        self.static_filters(node)
            .or_else(|| {
                node.ports_conflict(&pod.ports)
                    .then_some(FilterFailure::NodePorts)
            })
            .or_else(|| insufficient_resources(pod, node))
            .or_else(|| self.spread.check(node))
            .or_else(|| self.inter_pod_affinity.check(node))
            .or_else(|| Some(FilterFailure::DynamicResources(self.claims?.filter(node)?)))
    }

    /// Filters that do not depend on the pods on the node.
    fn static_filters(&self, node: &NodeInfo) -> Option<FilterFailure> {
        let pod = self.pod;
        let cordon = k8s_openapi::api::core::v1::Taint {
            key: UNSCHEDULABLE_TAINT.into(),
            effect: "NoSchedule".into(),
            ..Default::default()
        };
        if node.unschedulable()
            && !tolerations_tolerate_taint(pod.tolerations().iter(), &cordon, COMPARISON)
        {
            return Some(FilterFailure::NodeUnschedulable);
        }
        let spec = pod.spec()?;
        if spec
            .node_name
            .as_deref()
            .is_some_and(|n| !n.is_empty() && n != node.name)
        {
            return Some(FilterFailure::NodeName);
        }
        if has_untolerated_taint(pod, node) {
            return Some(FilterFailure::TaintToleration);
        }
        (!matches_node_affinity(pod, node)).then_some(FilterFailure::NodeAffinity)
    }
}

/// Whether node selector and required node affinity match; an invalid affinity does not.
pub(super) fn matches_node_affinity(pod: &PodInfo, node: &NodeInfo) -> bool {
    pod.node_affinity.matches(&node.name, node.labels()) == Ok(true)
}

/// `Lt` and `Gt` of tolerations are behind a feature gate that is off by default.
pub(super) const COMPARISON: ComparisonOperators = ComparisonOperators::Disabled;

/// Whether the node has a NoSchedule or NoExecute taint that the pod does not tolerate.
pub(super) fn has_untolerated_taint(pod: &PodInfo, node: &NodeInfo) -> bool {
    let tolerations = pod.tolerations().iter();
    find_matching_untolerated_taint(node.taints(), tolerations, COMPARISON).is_some()
}

/// The insufficient resources.
pub(super) fn insufficient_resources(pod: &PodInfo, node: &NodeInfo) -> Option<FilterFailure> {
    let mut short = Vec::new();
    let mut too_small = false;
    // Capacity of nominated pods is not available to others of their priority or less.
    let reserved: Vec<&PodInfo> = node
        .nominated
        .values()
        .filter(|p| p.priority >= pod.priority && p.key != pod.key)
        .map(|p| &**p)
        .collect();
    if node.pods.len() + reserved.len() >= node.max_pods {
        short.push(PODS.to_string());
        too_small |= node.max_pods == 0;
    }
    for (name, wanted) in pod.requests.iter() {
        if wanted <= 0 {
            continue;
        }
        let all = node.allocatable.get(name);
        // The DynamicResources plugin allocates devices of the class that backs the resource.
        if all == 0 && pod.device_resources.iter().any(|backed| backed == name) {
            continue;
        }
        let kept: i64 = reserved.iter().map(|p| p.requests.get(name)).sum();
        if wanted
            > all
                .saturating_sub(node.requested.get(name))
                .saturating_sub(kept)
        {
            short.push(name.to_string());
            too_small |= wanted > all;
        }
    }
    // kube-scheduler lists cpu, memory and ephemeral storage first.
    short.sort_by_key(|name| match name.as_str() {
        PODS => 0,
        "cpu" => 1,
        "memory" => 2,
        "ephemeral-storage" => 3,
        _ => 4,
    });
    (!short.is_empty()).then_some(FilterFailure::NodeResourcesFit(short, too_small))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A pod of the application `a` or `b`, with affinity, anti-affinity or spread constraints by `kind`.
    fn pod(name: &str, app: &str, kind: usize) -> Arc<PodInfo> {
        let term = |app: &str| {
            json!({"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}]})
        };
        let spread = json!([{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable":
            "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}}]);
        let spec = match kind {
            0 => json!({}),
            1 => json!({"affinity": {"podAffinity": term("a")}}),
            2 => json!({"affinity": {"podAntiAffinity": term("b")}}),
            _ => json!({"topologySpreadConstraints": spread}),
        };
        let metadata = json!({"namespace": "ns", "name": name, "labels": {"app": app}});
        let pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec}));
        Arc::new(PodInfo::of(Arc::new(pod.unwrap())))
    }

    fn nodes() -> Nodes {
        let zones = [("n0", "x"), ("n1", "x"), ("n2", "y")];
        let node = |(name, zone): (&str, &str)| {
            let node = json!({
                "metadata": {"name": name, "labels": {"zone": zone}},
                "status": {"allocatable": {"pods": "20"}},
            });
            let mut info = NodeInfo::named(name);
            info.set_node(Some(Arc::new(serde_json::from_value(node).unwrap())));
            (name.to_owned(), info)
        };
        zones.map(node).into()
    }

    proptest! {
        #[test]
        fn an_updated_state_is_that_of_all_nodes(
            incoming in (any::<bool>(), 0..4usize),
            pods in prop::collection::vec((0..3usize, any::<bool>(), 0..4usize), 0..8),
            removed in prop::collection::vec(any::<bool>(), 8),
            added_again in prop::collection::vec(any::<bool>(), 8),
        ) {
            let app = |is_a: bool| if is_a { "a" } else { "b" };
            let incoming = pod("incoming", app(incoming.0), incoming.1);
            let mut nodes = nodes();
            let mut placed = Vec::new();
            for (i, (node, is_a, kind)) in pods.into_iter().enumerate() {
                let pod = pod(&format!("p{i}"), app(is_a), kind);
                nodes.get_mut(&format!("n{node}")).unwrap().add(pod.clone());
                placed.push((format!("n{node}"), pod));
            }
            let mut updated = Filter::new(&incoming, nodes.values(), true);
            for (i, (node, pod)) in placed.iter().enumerate().filter(|(i, _)| removed[*i]) {
                let node = nodes.get_mut(node).unwrap();
                node.remove(&pod.key);
                updated.remove_pod(pod, node);
                if added_again[i] {
                    node.add(pod.clone());
                    updated.add_pod(pod, node);
                }
            }
            let computed = Filter::new(&incoming, nodes.values(), true);
            for node in nodes.values() {
                prop_assert_eq!(updated.check(node), computed.check(node));
            }
        }
    }
}
