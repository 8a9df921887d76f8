//! CronJobs.

use std::time::Duration;

use k8s_openapi::api::batch::v1::{CronJob, Job};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::cluster_fixture::*;

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
