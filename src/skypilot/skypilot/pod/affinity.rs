//! The affinity of SkyPilot's Pods.

use serde_json::{Value, json};

use crate::pod_resources::PodResources;

/// The node and pod affinity of a request: GPU Pods require their GPU's node label and prefer shared
/// nodes; other Pods prefer nodes without GPU labels. `None` if the cluster has no GPU labels.
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

/// Adds a preferred anti-affinity between the Pods of a cluster.
pub(super) fn prefer_separate_nodes(spec: &mut Value, cluster: &str) {
    let term = hostname_affinity_term(100, "skypilot-cluster-name", cluster);
    let anti = &mut spec["affinity"]["podAntiAffinity"];
    super::builder::push(
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
