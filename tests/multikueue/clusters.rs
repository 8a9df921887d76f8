//! The Active conditions of MultiKueueClusters and AdmissionChecks.

use serde_json::json;

use crate::fixture::{On, with_workers};
use crate::objects::condition;

fn active(object: &serde_json::Value) -> String {
    condition(object, "Active").unwrap_or_default()
}

#[test]
fn the_check_names_clusters_that_are_missing_or_not_connected() {
    with_workers(2, |f| async move {
        let cluster = f
            .until(On::Manager, "MultiKueueCluster", "worker1", |_| true)
            .await;
        assert_eq!(active(&cluster), "True/Active: Connected");
        f.delete(On::Manager, "Secret", "worker1-kubeconfig").await;
        let missing = "False/BadKubeConfig: load client config failed: Secret \"worker1-kubeconfig\" not found";
        f.until(On::Manager, "MultiKueueCluster", "worker1", |c| {
            active(c) == missing
        })
        .await;
        let some = "True/SomeActiveClusters: Inactive clusters: [worker1]";
        f.until(On::Manager, "AdmissionCheck", "multikueue", |c| {
            active(c) == some
        })
        .await;
        f.delete(On::Manager, "MultiKueueCluster", "worker2").await;
        let none =
            "False/NoUsableClusters: Missing clusters: [worker2], Inactive clusters: [worker1]";
        f.until(On::Manager, "AdmissionCheck", "multikueue", |c| {
            active(c) == none
        })
        .await;
        f.delete(On::Manager, "MultiKueueConfig", "multikueue")
            .await;
        let bad = "False/BadConfig: Cannot load the AdmissionChecks parameters: MultiKueueConfig.kueue.x-k8s.io \"multikueue\" not found";
        f.until(On::Manager, "AdmissionCheck", "multikueue", |c| {
            active(c) == bad
        })
        .await;
        f
    });
}

#[test]
fn a_kubeconfig_that_is_not_allowed_is_explained() {
    with_workers(1, |f| async move {
        let replace = |text: &str| json!({"stringData": {"kubeconfig": text}});
        let secret = "worker1-kubeconfig";
        let before = f.find(On::Manager, "Secret", secret).await.unwrap();
        let insecure = "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
          clusters: [{name: k, cluster: {server: 'https://a', insecure-skip-tls-verify: true}}], users: []}";
        f.patch(On::Manager, "Secret", secret, replace(insecure))
            .await;
        let refused = "False/InsecureKubeConfig: load client config failed: insecure TLS verification is not allowed for cluster k";
        f.until(On::Manager, "MultiKueueCluster", "worker1", |c| {
            active(c) == refused
        })
        .await;
        f.patch(
            On::Manager,
            "Secret",
            secret,
            json!({"data": before["data"]}),
        )
        .await;
        f.until(On::Manager, "MultiKueueCluster", "worker1", |c| {
            active(c) == "True/Active: Connected"
        })
        .await;
        f
    });
}

#[test]
fn a_kubeconfig_outside_of_the_folder_is_refused() {
    with_workers(1, |f| async move {
        f.apply(
            On::Manager,
            "apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: by-path}
spec: {clusterSource: {kubeConfig: {location: /tmp/kubeconfig, locationType: Path}}}",
        )
        .await;
        let refused = "False/BadKubeConfig: load client config failed: kubeconfig path is not under the allowed prefix: \"/tmp/kubeconfig\" is not under \"/etc/multikueue/kubeconfigs\"";
        f.until(On::Manager, "MultiKueueCluster", "by-path", |c| {
            active(c) == refused
        })
        .await;
        f
    });
}
