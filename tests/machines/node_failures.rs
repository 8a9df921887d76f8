//! Node failures, and nodes that are created manually.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use kueue_lab_nodes::NodePools;
use serde_json::json;

use super::cluster_fixture::*;

fn taints(node: &Node) -> Vec<String> {
    let taints = node.spec.as_ref().and_then(|s| s.taints.clone());
    let all = taints.unwrap_or_default();
    all.iter()
        .map(|t| format!("{}:{}", t.key, t.effect))
        .collect()
}

fn ready(node: &Node) -> String {
    let conditions = node.status.as_ref().unwrap().conditions.clone().unwrap();
    let ready = conditions.into_iter().find(|c| c.type_ == "Ready").unwrap();
    format!("{} {}", ready.status, ready.reason.unwrap_or_default())
}

#[test]
fn a_failed_node_gets_taints_evicts_its_pods_and_recovers() {
    with_cluster(POOLS, |lab| async move {
        lab.create(&pod("p", "sleep infinity", json!({}))).await;
        let running = lab.wait_for_phase("p", "Running").await;
        let node = node_of(&running).unwrap().to_string();
        assert!(taints(&lab.nodes.get(&node).await.unwrap()).is_empty());
        lab.machines.fail_node(&node);
        lab.clock.sleep(Duration::from_secs(90)).await;
        let failed = lab.nodes.get(&node).await.unwrap();
        assert_eq!(ready(&failed), "Unknown NodeStatusUnknown");
        assert_eq!(
            taints(&failed),
            [
                "node.kubernetes.io/unreachable:NoSchedule",
                "node.kubernetes.io/unreachable:NoExecute"
            ]
        );
        let pod = lab.pods.get("p").await.unwrap();
        assert_eq!(condition(&pod, "Ready").unwrap().0, "False");
        assert!(
            pod.metadata.deletion_timestamp.is_none(),
            "patience is 300 s"
        );
        lab.clock.sleep(Duration::from_secs(300)).await;
        let pod = lab.pods.get("p").await.unwrap();
        assert!(pod.metadata.deletion_timestamp.is_some());
        assert_eq!(
            condition(&pod, "DisruptionTarget").unwrap().1,
            "DeletionByTaintManager"
        );
        lab.machines.recover_node(&node);
        lab.wait_for_deletion("p").await;
        lab.clock.sleep(Duration::from_secs(5)).await;
        let back = lab.nodes.get(&node).await.unwrap();
        assert_eq!(ready(&back), "True KubeletReady");
        assert!(taints(&back).is_empty());
    });
}

/// When the Ready condition of the first node changes, in lab time: it fails twice, and recovers once before the
/// node lifecycle controller has noticed it and once after.
async fn ready_changes(lab: TestCluster) -> Vec<String> {
    let node = lab.nodes.list(&Default::default()).await.unwrap().items[0].name_any();
    let mut changes: Vec<String> = Vec::new();
    let mut last = String::new();
    for step in 0..1200 {
        match step {
            // None is a time of a heartbeat.
            36 | 236 => drop(lab.machines.fail_node(&node)),
            66 | 636 => drop(lab.machines.recover_node(&node)),
            _ => {}
        }
        let current = ready(&lab.nodes.get(&node).await.unwrap());
        if current != last {
            changes.push(format!("{} {current}", lab.clock.now()));
            last = current;
        }
        lab.clock.sleep(Duration::from_millis(500)).await;
    }
    changes
}

#[test]
fn sparse_heartbeats_change_no_time() {
    let (mut regular, mut sparse) = (Vec::new(), Vec::new());
    with_cluster(POOLS, async |lab| regular = ready_changes(lab).await);
    with_sparse_heartbeats(POOLS, async |lab| sparse = ready_changes(lab).await);
    assert_eq!(regular.len(), 3, "{regular:?}");
    assert_eq!(regular, sparse);
}

#[test]
fn a_node_without_a_kubelet_is_unreachable_after_the_startup_grace_period() {
    with_cluster(POOLS, |lab| async move {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "by-hand"}});
        let node: Node = serde_json::from_value(node).unwrap();
        lab.nodes
            .create(&PostParams::default(), &node)
            .await
            .unwrap();
        lab.clock.sleep(Duration::from_secs(50)).await;
        let waiting = lab.nodes.get("by-hand").await.unwrap();
        assert_eq!(
            taints(&waiting),
            ["node.kubernetes.io/not-ready:NoSchedule"]
        );
        assert_eq!(waiting.annotations()["node.alpha.kubernetes.io/ttl"], "0");
        lab.clock.sleep(Duration::from_secs(20)).await;
        let unreachable = lab.nodes.get("by-hand").await.unwrap();
        assert_eq!(ready(&unreachable), "Unknown NodeStatusNeverUpdated");
        assert_eq!(
            taints(&unreachable),
            [
                "node.kubernetes.io/unreachable:NoSchedule",
                "node.kubernetes.io/unreachable:NoExecute"
            ]
        );
    });
}

#[test]
fn a_no_execute_taint_of_a_ready_node_evicts_its_pods() {
    with_cluster(POOLS, |lab| async move {
        let tolerate = |seconds: Option<u32>| json!({"tolerations": [{"key": "bad", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]});
        lab.create(&pod("at-once", "sleep infinity", json!({})))
            .await;
        lab.create(&pod("later", "sleep infinity", tolerate(Some(60))))
            .await;
        lab.create(&pod("never", "sleep infinity", tolerate(None)))
            .await;
        for name in ["at-once", "later", "never"] {
            lab.wait_for_phase(name, "Running").await;
        }
        let taints = json!({"spec": {"taints": [{"key": "bad", "effect": "NoExecute"}]}});
        let nodes = lab.nodes.list(&Default::default()).await.unwrap();
        for node in nodes.items {
            lab.nodes
                .patch(
                    &node.name_any(),
                    &PatchParams::default(),
                    &Patch::Merge(&taints),
                )
                .await
                .unwrap();
        }
        lab.wait_for_deletion("at-once").await;
        lab.clock.sleep(Duration::from_secs(20)).await;
        let later = lab.pods.get("later").await.unwrap();
        assert!(later.metadata.deletion_timestamp.is_none());
        lab.clock.sleep(Duration::from_secs(40)).await;
        lab.wait_for_deletion("later").await;
        assert_eq!(phase_of(&lab.pods.get("never").await.unwrap()), "Running");
    });
}

#[test]
fn pods_run_on_manually_created_nodes() {
    with_cluster("[]", |lab| async move {
        let node = json!({"metadata": {"name": "mine", "labels": {"tier": "own"}}});
        let node: Node = serde_json::from_value(node).unwrap();
        lab.nodes
            .create(&PostParams::default(), &node)
            .await
            .unwrap();
        lab.create(&pod("p", "sleep 10", json!({}))).await;
        lab.clock.sleep(Duration::from_secs(5)).await;
        let amounts = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        let status = json!({"status": {"capacity": amounts, "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}});
        lab.nodes
            .patch_status("mine", &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
        let done = lab.wait_for_phase("p", "Succeeded").await;
        assert_eq!(node_of(&done), Some("mine"));
        let seen = lab.nodes.get("mine").await.unwrap();
        assert_eq!(seen.labels()["tier"], "own");
    });
}

#[test]
fn pods_of_a_deleted_node_are_deleted() {
    with_cluster(POOLS, |lab| async move {
        lab.create(&pod("p", "sleep infinity", json!({}))).await;
        lab.wait_for_phase("p", "Running").await;
        lab.machines.apply_pools(NodePools::default()).await;
        lab.clock.sleep(Duration::from_secs(30)).await;
        assert_eq!(phase_of(&lab.pods.get("p").await.unwrap()), "Running");
        lab.wait_for_deletion("p").await;
    });
}
