//! StatefulSets.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::cluster_fixture::*;

fn names(pods: &[Pod]) -> Vec<String> {
    pods.iter().map(|p| p.name_any()).collect()
}

fn set(policy: &str, replicas: i32) -> Value {
    json!({
        "metadata": {"name": "st"},
        "spec": {
            "serviceName": "st", "replicas": replicas, "podManagementPolicy": policy,
            "selector": {"matchLabels": {"app": "st"}},
            "template": {
                "metadata": {"labels": {"app": "st"}},
                "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "a:1"}]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}],
        },
    })
}

#[test]
fn a_statefulset_creates_and_deletes_pods_in_order() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<StatefulSet>(set("OrderedReady", 3))
            .await;
        for number in 0..3 {
            let pods = cluster.pods("app=st", number + 1).await;
            cluster.clock.sleep(Duration::from_secs(5)).await;
            assert_eq!(
                cluster.all_pods("app=st").await.len(),
                number + 1,
                "one at a time"
            );
            let pod = &pods[number];
            assert_eq!(pod.name_any(), format!("st-{number}"));
            let spec = pod.spec.as_ref().unwrap();
            assert_eq!(
                spec.hostname.as_deref(),
                Some(format!("st-{number}").as_str())
            );
            assert_eq!(spec.subdomain.as_deref(), Some("st"));
            assert_eq!(
                pod.labels()["apps.kubernetes.io/pod-index"],
                number.to_string()
            );
            cluster
                .api::<PersistentVolumeClaim>()
                .get(&format!("data-st-{number}"))
                .await
                .unwrap();
            cluster.set_pod_status(pod, "Running", true).await;
        }
        let ready = |s: &StatefulSet| s.status.as_ref().and_then(|s| s.ready_replicas);
        cluster
            .wait_until_object::<StatefulSet>("st", "ready", |s| ready(s) == Some(3))
            .await;
        let path = "/apis/apps/v1/namespaces/test/statefulsets/st";
        // An update starts with the pod of the highest ordinal.
        let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "a:2"}]}}}});
        cluster.patch(path, image).await;
        for number in (0..3).rev() {
            let name = format!("st-{number}");
            let pod = cluster
                .wait_until_object::<Pod>(&name, "updated", |p| {
                    p.spec.as_ref().unwrap().containers[0].image.as_deref() == Some("a:2")
                })
                .await;
            cluster.set_pod_status(&pod, "Running", true).await;
        }
        cluster
            .wait_until_object::<StatefulSet>("st", "updated", |s| {
                let status = s.status.clone().unwrap_or_default();
                status.updated_replicas == Some(3)
                    && status.current_revision == status.update_revision
            })
            .await;
        let revisions = cluster
            .api::<ControllerRevision>()
            .list(&ListParams::default())
            .await
            .unwrap();
        let mut numbers: Vec<i64> = revisions.items.iter().map(|r| r.revision).collect();
        numbers.sort();
        assert_eq!(numbers, [1, 2]);
        cluster.patch(path, json!({"spec": {"replicas": 1}})).await;
        assert_eq!(names(&cluster.pods("app=st", 1).await), ["st-0"]);
        let events = cluster.events("st").await;
        let last = "SuccessfulDelete: delete Pod st-1 in StatefulSet st successful";
        assert!(events.iter().any(|e| e == last), "{events:?}");
    });
}

#[test]
fn a_parallel_statefulset_does_not_wait() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<StatefulSet>(set("Parallel", 3))
            .await;
        let pods = cluster.pods("app=st", 3).await;
        assert_eq!(names(&pods), ["st-0", "st-1", "st-2"]);
        cluster.set_pod_status(&pods[1], "Failed", false).await;
        cluster
            .wait_until_object::<Pod>("st-1", "replaced", |p| p.uid() != pods[1].uid())
            .await;
    });
}
