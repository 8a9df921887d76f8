//! StatefulSets, DaemonSets and CronJobs.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
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

fn cron(spec: Value) -> Value {
    let mut cron = json!({
        "metadata": {"name": "tick"},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}},
    });
    for (field, value) in spec.as_object().unwrap() {
        cron["spec"][field] = value.clone();
    }
    cron
}

async fn jobs(cluster: &TestCluster) -> Vec<Job> {
    cluster
        .api::<Job>()
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
}

#[test]
fn a_cronjob_creates_a_job_at_each_scheduled_time() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<CronJob>(cron(json!({"successfulJobsHistoryLimit": 1})))
            .await;
        cluster.clock.sleep(Duration::from_secs(299)).await;
        assert!(jobs(&cluster).await.is_empty());
        cluster.clock.sleep(Duration::from_secs(2)).await;
        let first = jobs(&cluster).await;
        assert_eq!(first.len(), 1);
        assert_eq!(
            first[0].annotations()["batch.kubernetes.io/cronjob-scheduled-timestamp"],
            "2026-03-02T12:05:00Z",
        );
        let active = |c: &CronJob| {
            c.status
                .as_ref()
                .and_then(|s| s.active.as_ref())
                .map_or(0, Vec::len)
        };
        cluster
            .wait_until_object::<CronJob>("tick", "active", |c| active(c) == 1)
            .await;
        for round in 0..3 {
            let pods = cluster.pods("job-name", 1).await;
            cluster.set_pod_status(&pods[0], "Succeeded", false).await;
            let done = cluster
                .wait_until_object::<CronJob>("tick", "done", |c| active(c) == 0)
                .await;
            assert!(done.status.unwrap().last_successful_time.is_some());
            cluster
                .wait_for(&format!("round {round}"), || async {
                    (jobs(&cluster).await.len() == 2).then_some(())
                })
                .await;
            cluster
                .wait_until_object::<CronJob>("tick", "active", |c| active(c) == 1)
                .await;
        }
        let events = cluster.events("tick").await;
        assert!(
            events[0].starts_with("SuccessfulCreate: Created job tick-"),
            "{events:?}"
        );
        assert!(events.iter().any(|e| e.contains("condition: Complete")));
    });
}

#[test]
fn a_cronjob_applies_its_concurrency_policy() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<CronJob>(cron(json!({"concurrencyPolicy": "Forbid"})))
            .await;
        cluster.clock.sleep(Duration::from_secs(901)).await;
        let kept = jobs(&cluster).await;
        assert_eq!(kept.len(), 1);
        let path = "/apis/batch/v1/namespaces/test/cronjobs/tick";
        cluster
            .patch(path, json!({"spec": {"concurrencyPolicy": "Replace"}}))
            .await;
        cluster.clock.sleep(Duration::from_secs(310)).await;
        let replaced = jobs(&cluster).await;
        assert_eq!(replaced.len(), 1);
        assert_ne!(replaced[0].uid(), kept[0].uid());
        cluster
            .patch(path, json!({"spec": {"suspend": true}}))
            .await;
        cluster.clock.sleep(Duration::from_secs(3600)).await;
        assert_eq!(jobs(&cluster).await[0].uid(), replaced[0].uid());
    });
}
