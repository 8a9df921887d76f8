//! Where SkyPilot wants a Pod to land.

use serde_json::{Value, json};

use crate::sizing::PodResources;

/// The affinity of a request: GPU Pods require their GPU's node label and like to share nodes; other
/// Pods prefer nodes without such labels. `None` where the cluster has no GPU labels at all.
pub(super) fn node_affinity(request: &PodResources) -> Option<Value> {
    if let Some(gpus) = &request.gpus {
        let (key, value) = &gpus.label;
        return Some(json!({
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{
                        "matchExpressions": [
                            {"key": key, "operator": "In", "values": [value]},
                        ],
                    }],
                },
            },
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution":
                    [hostname_affinity_term(1, "skypilot-binpack", "gpu")],
            },
        }));
    }
    if request.avoided_labels.is_empty() {
        return None;
    }
    let absent: Vec<_> = request
        .avoided_labels
        .iter()
        .map(|key| json!({"key": key, "operator": "DoesNotExist"}))
        .collect();
    Some(json!({
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution":
                [{"weight": 1, "preference": {"matchExpressions": absent}}],
        },
    }))
}

/// Prefers a node of its own for each Pod of a cluster.
pub(super) fn prefer_separate_nodes(spec: &mut Value, cluster: &str) {
    let term = hostname_affinity_term(100, "skypilot-cluster-name", cluster);
    let anti = &mut spec["affinity"]["podAntiAffinity"];
    super::push(
        anti,
        "preferredDuringSchedulingIgnoredDuringExecution",
        term,
    );
}

fn hostname_affinity_term(weight: u32, key: &str, value: &str) -> Value {
    json!({
        "weight": weight,
        "podAffinityTerm": {
            "labelSelector": {
                "matchExpressions": [{"key": key, "operator": "In", "values": [value]}],
            },
            "topologyKey": "kubernetes.io/hostname",
        },
    })
}
