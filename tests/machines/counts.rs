//! Counts that no cluster can have: the pods are created in steps.

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;
use std::time::Duration;

use super::cluster_fixture::*;

/// `--kube-api-qps` of kube-controller-manager.
const QPS: usize = 20;
const BURST_REPLICAS: usize = 500;

#[test]
fn a_parallel_stateful_set_with_a_billion_replicas_is_created_in_steps() {
    with_cluster("[]", |lab| async move {
        let container = json!({"name": "c", "image": "busybox", "command": ["sleep", "9999"]});
        let set: StatefulSet = serde_json::from_value(json!({
            "metadata": {"name": "s"},
            "spec": {
                "replicas": 1_000_000_000, "podManagementPolicy": "Parallel", "serviceName": "s",
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}},
            },
        }))
        .unwrap();
        let sets: Api<StatefulSet> = Api::namespaced(lab.client.clone(), "test");
        sets.create(&PostParams::default(), &set).await.unwrap();
        let pods = async || {
            let all = lab.pods.list(&ListParams::default()).await.unwrap();
            all.items.len()
        };
        lab.clock.sleep(Duration::from_secs(1)).await;
        let first = pods().await;
        assert!(
            (BURST_REPLICAS..=BURST_REPLICAS + QPS).contains(&first),
            "{first}"
        );
        lab.clock.sleep(Duration::from_secs(3)).await;
        let later = pods().await;
        assert!(
            (first + QPS..=first + 4 * QPS).contains(&later),
            "{first} {later}"
        );
        let status = sets.get("s").await.unwrap().status.unwrap();
        assert_eq!(usize::try_from(status.replicas).unwrap(), later);
    });
}
