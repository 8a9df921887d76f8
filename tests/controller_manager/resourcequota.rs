//! ResourceQuota status.

use k8s_openapi::api::core::v1::{ConfigMap, Pod, ResourceQuota};
use serde_json::json;

use super::cluster_fixture::*;

#[test]
fn resource_quotas_report_usage() {
    with_cluster(|cluster| async move {
        let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {
            "pods": "3", "requests.cpu": "4", "configmaps": "5", "count/jobs.batch": "2"}}});
        cluster.create_object::<ResourceQuota>(quota).await;
        let used = |q: &ResourceQuota, what: &str| {
            let used = q.status.as_ref().and_then(|s| s.used.as_ref());
            used.and_then(|u| u.get(what))
                .map(|q| q.0.clone())
                .unwrap_or_default()
        };
        cluster.create_object::<Pod>(pod("a", "1500m")).await;
        cluster.create_object::<Pod>(pod("b", "500m")).await;
        let two = cluster
            .wait_until_object::<ResourceQuota>("q", "two pods", |q| used(q, "pods") == "2")
            .await;
        assert_eq!(used(&two, "requests.cpu"), "2");
        assert_eq!(used(&two, "count/jobs.batch"), "0");
        assert_eq!(two.status.unwrap().hard.unwrap()["pods"].0, "3");
        cluster
            .create_object::<ConfigMap>(json!({"metadata": {"name": "m"}}))
            .await;
        // The root certificate is one, too.
        cluster
            .wait_until_object::<ResourceQuota>("q", "maps", |q| used(q, "configmaps") == "2")
            .await;
        let done = cluster.api::<Pod>().get("a").await.unwrap();
        cluster.set_pod_status(&done, "Succeeded", false).await;
        let one = cluster
            .wait_until_object::<ResourceQuota>("q", "one pod", |q| used(q, "pods") == "1")
            .await;
        assert_eq!(used(&one, "requests.cpu"), "500m");
    });
}
