//! DaemonSets.

use k8s_openapi::api::apps::v1::DaemonSet;
use serde_json::{Value, json};

use super::cluster_fixture::*;

#[test]
fn a_daemonset_runs_on_every_matching_node() {
    with_cluster(|cluster| async move {
        let node = |name: &str, gpu: &str, taints: Value| json!({"metadata": {"name": name, "labels": {"gpu": gpu}}, "spec": {"taints": taints}});
        let tainted = json!([{"key": "spot", "value": "true", "effect": "NoSchedule"}]);
        for body in [
            node("a", "yes", json!([])),
            node("b", "no", json!([])),
            node("c", "yes", tainted),
        ] {
            let path = format!(
                "/api/v1/nodes/{}",
                body["metadata"]["name"].as_str().unwrap()
            );
            cluster.create("/api/v1/nodes", body.clone()).await;
            // A new node has a not-ready taint until the node controller removes it.
            cluster
                .patch(&path, json!({"spec": {"taints": body["spec"]["taints"]}}))
                .await;
        }
        let set = json!({
            "metadata": {"name": "ds"},
            "spec": {
                "selector": {"matchLabels": {"app": "ds"}},
                "template": {
                    "metadata": {"labels": {"app": "ds"}},
                    "spec": {"nodeSelector": {"gpu": "yes"}, "containers": [{"name": "c", "image": "i"}]},
                },
            },
        });
        cluster.create_object::<DaemonSet>(set).await;
        let on = |set: &DaemonSet| set.status.as_ref().map(|s| s.desired_number_scheduled);
        cluster
            .wait_until_object::<DaemonSet>("ds", "one node", |s| on(s) == Some(1))
            .await;
        let pods = cluster.pods("app=ds", 1).await;
        let affinity = serde_json::to_value(&pods[0].spec.as_ref().unwrap().affinity).unwrap();
        assert!(
            affinity.to_string().contains(r#""values":["a"]"#),
            "{affinity}"
        );
        cluster
            .patch(
                "/api/v1/nodes/b",
                json!({"metadata": {"labels": {"gpu": "yes"}}}),
            )
            .await;
        cluster.pods("app=ds", 2).await;
        cluster
            .patch(
                "/api/v1/nodes/a",
                json!({"metadata": {"labels": {"gpu": "no"}}}),
            )
            .await;
        cluster.pods("app=ds", 1).await;
    });
}
