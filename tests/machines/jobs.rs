//! Many concurrent Jobs, and an idle cluster.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::json;

use super::cluster_fixture::*;

fn job(name: &str, completions: i32, script: &str) -> Job {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"completions": completions, "parallelism": completions, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", script],
                "resources": {"requests": {"cpu": "500m"}}}],
        }}},
    }))
    .unwrap()
}

#[test]
fn a_job_of_five_pods_completes() {
    with_cluster(POOLS, |lab| async move {
        let jobs: Api<Job> = Api::namespaced(lab.client.clone(), "test");
        jobs.create(&PostParams::default(), &job("j", 5, "sleep 300"))
            .await
            .unwrap();
        let started = lab.clock.now();
        let done = |job: &Job| {
            let conditions = job.status.as_ref().and_then(|s| s.conditions.as_ref());
            conditions.is_some_and(|c| c.iter().any(|c| c.type_ == "Complete"))
        };
        while !done(&jobs.get("j").await.unwrap()) {
            lab.clock.sleep(Duration::from_secs(1)).await;
            assert!(lab.clock.now().duration_since(started).as_secs() < 400);
        }
        let status = jobs.get("j").await.unwrap().status.unwrap();
        assert_eq!(status.succeeded, Some(5));
    });
}

#[test]
fn writes_have_the_field_managers_of_kubernetes_components() {
    with_cluster(POOLS, |lab| async move {
        let jobs: Api<Job> = Api::namespaced(lab.client.clone(), "test");
        let job = job("j", 1, "true");
        jobs.create(&PostParams::default(), &job).await.unwrap();
        loop {
            let status = jobs.get("j").await.unwrap().status;
            if status.and_then(|s| s.succeeded) == Some(1) {
                break;
            }
            lab.clock.sleep(Duration::from_secs(1)).await;
        }
        let managers = |fields: Option<Vec<ManagedFieldsEntry>>| -> Vec<(String, String)> {
            let entries = fields.into_iter().flatten();
            entries
                .map(|e| {
                    let subresource = e.subresource.unwrap_or_default();
                    (e.manager.unwrap_or_default(), subresource)
                })
                .collect()
        };
        let job = jobs.get("j").await.unwrap();
        let controller = ("kube-controller-manager".to_owned(), "status".to_owned());
        assert!(managers(job.metadata.managed_fields).contains(&controller));
        let pods = lab.pods.list(&ListParams::default()).await.unwrap();
        let of_pod = managers(pods.items[0].metadata.managed_fields.clone());
        assert!(
            of_pod.contains(&("kube-controller-manager".into(), String::new())),
            "{of_pod:?}"
        );
        assert!(
            of_pod.contains(&("kubelet".into(), "status".into())),
            "{of_pod:?}"
        );
    });
}

#[test]
fn two_hundred_jobs_at_once_complete() {
    let pools = "- name: cpu\n  count: 16\n  resources: {cpu: 16, memory: 64Gi}\n";
    with_cluster(pools, |lab| async move {
        let jobs: Api<Job> = Api::namespaced(lab.client.clone(), "test");
        for i in 0..200 {
            let job = job(&format!("j{i}"), 1, "sleep 20");
            jobs.create(&PostParams::default(), &job).await.unwrap();
        }
        let started = lab.clock.now();
        loop {
            let list = jobs.list(&ListParams::default()).await.unwrap();
            let done = list.iter().filter(|job| {
                let status = job.status.as_ref();
                status.and_then(|s| s.succeeded) == Some(1)
            });
            if done.count() == 200 {
                break;
            }
            lab.clock.sleep(Duration::from_secs(5)).await;
            assert!(lab.clock.now().duration_since(started).as_secs() < 300);
        }
    });
}
