//! Pods that are stuck in termination on an unreachable node.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kueue_lab_api::config::Feature;
use kueue_lab_controller::ControllerConfig;
use serde_json::{Value, json};

use super::cluster_fixture::*;

fn with_failure_recovery() -> ControllerConfig {
    let config = ControllerConfig::default();
    ControllerConfig {
        gates: config.gates.with(Feature::FailureRecoveryPolicy, true),
        ..config
    }
}

/// A pod on the node `n` with an annotation, running and without readiness of its own.
fn pod(name: &str, safe_to_delete: Option<&str>) -> String {
    let key = "kueue.x-k8s.io/safe-to-forcefully-delete";
    let annotations = safe_to_delete.map(|value| json!({ key: value }));
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "annotations": annotations},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "busybox"}]},
    })
    .to_string()
}

async fn taint_node(w: &TestCluster, taints: Value) {
    let nodes: Api<Node> = Api::all(w.client.clone());
    let patch = Patch::Merge(json!({"spec": {"taints": taints}}));
    nodes
        .patch("n", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

fn unreachable() -> Value {
    json!([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}])
}

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n}}";

#[test]
fn pods_that_permit_it_are_force_deleted_on_an_unreachable_node() {
    with_config(with_failure_recovery(), |w| async move {
        w.apply(NODE).await;
        w.apply(&pod("safe", Some("true"))).await;
        w.apply(&pod("unsafe", Some("false"))).await;
        w.apply(&pod("default", None)).await;
        w.apply(&pod("running", Some("true"))).await;
        let pods: Api<Pod> = Api::namespaced(w.client.clone(), "ns");
        for name in ["safe", "unsafe", "default"] {
            let params = DeleteParams::default().grace_period(30);
            pods.delete(name, &params).await.unwrap();
        }
        // The node is reachable: the kubelet ends the pods.
        w.sleep(150).await;
        assert_eq!(
            pods.list(&ListParams::default()).await.unwrap().items.len(),
            4
        );
        taint_node(&w, unreachable()).await;
        w.sleep(5).await;
        let left = pods.list(&ListParams::default()).await.unwrap();
        let left: Vec<_> = left
            .iter()
            .filter_map(|p| p.metadata.name.clone())
            .collect();
        assert_eq!(left, ["default", "running", "unsafe"]);
        let events: Api<Event> = Api::namespaced(w.client.clone(), "ns");
        let events = events.list(&ListParams::default()).await.unwrap();
        let of_safe: Vec<_> = events
            .iter()
            .filter(|e| e.regarding.as_ref().unwrap().name.as_deref() == Some("safe"))
            .map(|e| {
                (
                    e.type_.as_deref(),
                    e.reason.as_deref(),
                    e.action.as_deref(),
                    e.note.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            of_safe,
            [(
                Some("Warning"),
                Some("KueueForcefullyDeleted"),
                Some("ForcefulTermination"),
                Some(
                    "Pod forcefully terminated after 1m0.00000003s grace period due to unreachable node `n` (triggered by `kueue.x-k8s.io/safe-to-forcefully-delete` annotation)"
                ),
            )]
        );
    });
}

/// Deletes a pod on an unreachable node with a grace period of 30 s.
async fn delete_on_unreachable_node(w: &TestCluster) -> Api<Pod> {
    w.apply(NODE).await;
    taint_node(w, unreachable()).await;
    w.apply(&pod("safe", Some("true"))).await;
    let pods: Api<Pod> = Api::namespaced(w.client.clone(), "ns");
    let params = DeleteParams::default().grace_period(30);
    pods.delete("safe", &params).await.unwrap();
    pods
}

#[test]
fn a_pod_is_force_deleted_a_minute_after_its_grace_period() {
    with_config(with_failure_recovery(), |w| async move {
        let pods = delete_on_unreachable_node(&w).await;
        w.sleep(80).await;
        let waiting = pods.get("safe").await.unwrap();
        assert_eq!(waiting.status.unwrap().phase.as_deref(), Some("Pending"));
        w.sleep(15).await;
        assert!(pods.get_opt("safe").await.unwrap().is_none());
    });
}

#[test]
fn pods_stay_without_the_feature_gate() {
    with_cluster(|w| async move {
        let pods = delete_on_unreachable_node(&w).await;
        w.sleep(300).await;
        assert!(pods.get_opt("safe").await.unwrap().is_some());
    });
}
