//! Elastic jobs: they grow and shrink in the worker in which they run.

use serde_json::{Value, json};

use crate::fixture::{Fixture, On, with_workers};
use crate::objects::{condition, job};

const ELASTIC: &str = "annotations: {kueue.x-k8s.io/elastic-job: 'true'}";

async fn parallelism(f: &Fixture, on: On, number: u32) {
    f.until(on, "Job", "a", |job| {
        job["spec"]["parallelism"] == number && job["status"]["active"] == number
    })
    .await;
}

/// An elastic Job with one pod at first.
fn elastic_job() -> String {
    job("a", 1, 3600)
        .replace(
            "namespace: default,",
            &format!("namespace: default, {ELASTIC},"),
        )
        .replace(
            "spec:\n  template",
            "spec:\n  parallelism: 1\n  completions: 4\n  template",
        )
}

#[test]
fn an_elastic_job_is_scaled_in_its_worker() {
    with_workers(2, |f| async move {
        f.set_quota(On::Worker(2), 0).await;
        f.apply(On::Manager, &elastic_job()).await;
        let first = f.workload(On::Manager, "job-a-").await;
        assert_eq!(f.until_dispatched(&first).await, 1);
        parallelism(&f, On::Worker(1), 1).await;
        let uid = |job: &Value| job["metadata"]["uid"].clone();
        let before = uid(&f.find(On::Worker(1), "Job", "a").await.unwrap());

        f.patch(On::Manager, "Job", "a", json!({"spec": {"parallelism": 2}}))
            .await;
        f.until(On::Manager, "Workload", &first, |wl| {
            condition(wl, "Finished").is_some_and(|c| c.starts_with("True/WorkloadSliceReplaced"))
        })
        .await;
        parallelism(&f, On::Worker(1), 2).await;
        let slices = f.list(On::Manager, "Workload").await;
        let second = slices
            .iter()
            .map(|wl| wl["metadata"]["name"].as_str().unwrap())
            .find(|name| *name != first)
            .unwrap();
        assert_eq!(f.until_dispatched(second).await, 1);
        // The second worker also has quota; the new slice stays with its job.
        assert!(f.list(On::Worker(2), "Workload").await.is_empty());

        f.patch(On::Manager, "Job", "a", json!({"spec": {"parallelism": 1}}))
            .await;
        parallelism(&f, On::Worker(1), 1).await;
        f.until(On::Manager, "Workload", second, |wl| {
            wl["spec"]["podSets"][0]["count"] == 1
        })
        .await;
        let after = uid(&f.find(On::Worker(1), "Job", "a").await.unwrap());
        assert_eq!(after, before);
        f
    });
}

#[test]
fn an_elastic_ray_cluster_is_scaled_in_its_worker() {
    with_workers(2, |f| async move {
        f.set_quota(On::Worker(2), 0).await;
        let template =
            "{spec: {containers: [{name: ray, image: ray, resources: {requests: {cpu: 1}}}]}}";
        let yaml = format!(
            "{{apiVersion: ray.io/v1, kind: RayCluster, metadata: {{name: a, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq}}, {ELASTIC}}}, spec: {{headGroupSpec: {{rayStartParams: {{}}, template: {template}}}, workerGroupSpecs: [{{groupName: w, replicas: 1, minReplicas: 1, maxReplicas: 3, rayStartParams: {{}}, template: {template}}}]}}}}"
        );
        f.apply(On::Manager, &yaml).await;
        let first = f.workload(On::Manager, "raycluster-a-").await;
        assert_eq!(f.until_dispatched(&first).await, 1);
        let replicas = |cluster: &Value| cluster["spec"]["workerGroupSpecs"][0]["replicas"].clone();
        let mut cluster = f
            .until(On::Worker(1), "RayCluster", "a", |c| replicas(c) == 1)
            .await;
        let mut groups = cluster["spec"]["workerGroupSpecs"].take();
        groups[0]["replicas"] = json!(2);
        f.patch(
            On::Manager,
            "RayCluster",
            "a",
            json!({"spec": {"workerGroupSpecs": groups}}),
        )
        .await;
        f.until(On::Worker(1), "RayCluster", "a", |c| {
            replicas(c) == 2 && c["status"]["readyWorkerReplicas"] == 2
        })
        .await;
        f.until(On::Manager, "Workload", &first, |wl| {
            condition(wl, "Finished").is_some_and(|c| c.starts_with("True/WorkloadSliceReplaced"))
        })
        .await;
        f
    });
}

#[test]
fn the_copies_of_a_slice_stay_until_the_next_one_is_admitted_in_the_worker() {
    with_workers(1, |f| async move {
        f.set_quota(On::Manager, 1).await;
        f.set_quota(On::Worker(1), 1).await;
        let (first, yaml) = ("job-a-", elastic_job());
        f.apply(On::Manager, &yaml).await;
        let first = f.workload(On::Manager, first).await;
        assert_eq!(f.until_dispatched(&first).await, 1);
        parallelism(&f, On::Worker(1), 1).await;
        let before = f.find(On::Worker(1), "Job", "a").await.unwrap();

        f.patch(On::Manager, "Job", "a", json!({"spec": {"parallelism": 2}}))
            .await;
        f.set_quota(On::Manager, 2).await;
        let replaced = f
            .until(On::Manager, "Workload", &first, |wl| {
                condition(wl, "Finished").is_some()
            })
            .await;
        let finished = condition(&replaced, "Finished").unwrap();
        assert!(
            finished.starts_with("True/WorkloadSliceReplaced"),
            "{finished}"
        );
        // The worker has no quota for the new slice: what runs there stays.
        f.sleep(120).await;
        assert!(f.find(On::Worker(1), "Workload", &first).await.is_some());
        let after = f.find(On::Worker(1), "Job", "a").await.unwrap();
        assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
        assert_eq!(after["status"]["active"], 1);

        f.set_quota(On::Worker(1), 2).await;
        parallelism(&f, On::Worker(1), 2).await;
        let after = f.find(On::Worker(1), "Job", "a").await.unwrap();
        assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
        f
    });
}
