//! Scheduling: node affinity, taints, pod affinity, topology spread.

use std::time::Duration;

use kube::ResourceExt;
use serde_json::{Value, json};

use super::cluster_fixture::*;

const ZONES: &str = "- name: a\n  count: 2\n  resources: {cpu: 8, memory: 16Gi}\n  zones: [east]\n  labels: {disk: ssd}\n- name: b\n  count: 2\n  resources: {cpu: 8, memory: 16Gi}\n  zones: [west]\n- name: spot\n  count: 1\n  resources: {cpu: 64, memory: 256Gi}\n  taints: [{key: spot, value: \"true\", effect: NoSchedule}]\n";

async fn node_of_scheduled_pod(lab: &TestCluster, name: &str, more: Value) -> String {
    lab.create(&pod(name, "sleep infinity", more)).await;
    let running = lab.wait_for_phase(name, "Running").await;
    node_of(&running).unwrap().to_string()
}

/// The message of the PodScheduled condition of an unschedulable pod.
async fn unschedulable_message(lab: &TestCluster, name: &str, more: Value) -> String {
    lab.create(&pod(name, "sleep infinity", more)).await;
    lab.clock.sleep(Duration::from_secs(5)).await;
    let pod = lab.pods.get(name).await.unwrap();
    assert_eq!(node_of(&pod), None);
    let text = condition(&pod, "PodScheduled").unwrap().2;
    text.split(" preemption:").next().unwrap().to_string()
}

#[test]
fn node_affinity_and_taints_are_respected() {
    with_cluster(ZONES, |lab| async move {
        assert!(
            node_of_scheduled_pod(&lab, "ssd", json!({"nodeSelector": {"disk": "ssd"}}))
                .await
                .starts_with("a-")
        );
        let tolerations = json!([{"key": "spot", "operator": "Exists"}]);
        let spot =
            json!({"tolerations": tolerations, "nodeSelector": {"kueue-lab.dev/pool": "spot"}});
        assert_eq!(node_of_scheduled_pod(&lab, "spot", spot).await, "spot-0");
        let preference = json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["west"]}]}}]}}});
        assert!(
            node_of_scheduled_pod(&lab, "west", preference)
                .await
                .starts_with("b-")
        );
        assert_eq!(
            unschedulable_message(&lab, "nowhere", json!({"nodeSelector": {"disk": "tape"}})).await,
            "0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 node(s) didn't match Pod's node affinity/selector."
        );
    });
}

#[test]
fn pod_affinity_is_respected() {
    with_cluster(ZONES, |lab| async move {
        let term = |app: &str, key: &str| json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key});
        let first = node_of_scheduled_pod(&lab, "db", json!({})).await;
        let zone =
            lab.nodes.get(&first).await.unwrap().labels()["topology.kubernetes.io/zone"].clone();
        let near = json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("db", "topology.kubernetes.io/zone")]}}});
        let web = node_of_scheduled_pod(&lab, "web", near).await;
        assert_eq!(
            lab.nodes.get(&web).await.unwrap().labels()["topology.kubernetes.io/zone"],
            zone
        );
        let away = json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("db", "topology.kubernetes.io/zone")]}}});
        let other = node_of_scheduled_pod(&lab, "loner", away).await;
        assert_ne!(
            lab.nodes.get(&other).await.unwrap().labels()["topology.kubernetes.io/zone"],
            zone
        );
        // Existing anti-affinity is symmetric: `loner` excludes `db` from its zone.
        let mut second = pod(
            "db2",
            "sleep infinity",
            json!({"nodeName": null, "nodeSelector": {"kubernetes.io/hostname": other}}),
        );
        second.metadata.labels = Some([("app".to_string(), "db".to_string())].into());
        lab.create(&second).await;
        lab.clock.sleep(Duration::from_secs(5)).await;
        let text = condition(&lab.pods.get("db2").await.unwrap(), "PodScheduled")
            .unwrap()
            .2;
        assert!(
            text.contains("1 node(s) didn't satisfy existing pods anti-affinity rules"),
            "{text}"
        );
    });
}

#[test]
fn topology_spread_constraints_are_respected() {
    with_cluster(ZONES, |lab| async move {
        let spread = json!({"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
            "topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"kin": "x"}}}]});
        let mut zones = std::collections::BTreeMap::<String, usize>::new();
        for i in 0..6 {
            let mut one = pod(&format!("k{i}"), "sleep infinity", spread.clone());
            one.metadata.labels = Some([("kin".to_string(), "x".to_string())].into());
            lab.create(&one).await;
            let running = lab.wait_for_phase(&format!("k{i}"), "Running").await;
            let node = lab.nodes.get(node_of(&running).unwrap()).await.unwrap();
            *zones
                .entry(node.labels()["topology.kubernetes.io/zone"].clone())
                .or_default() += 1;
        }
        assert_eq!(zones.into_values().collect::<Vec<_>>(), [3, 3]);
    });
}
