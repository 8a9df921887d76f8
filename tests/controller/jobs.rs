//! Jobs from creation to completion.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kueue_lab_controller::jobs::integration_manager::Gvk;
use kueue_lab_controller::jobs::workload_names::workload_name;
use serde_json::{Value, json};

use crate::cluster_fixture::{QUEUES, TestCluster, with_cluster};

const QUEUES_WITH_FLAVOR: &str = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
spec:
  nodeLabels: {gpu: a100}
  tolerations: [{key: spot, operator: Exists, effect: NoSchedule}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: a100
      resources: [{name: cpu, nominalQuota: 9}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: ns}
spec: {clusterQueue: cq}";

fn jobs(cluster: &TestCluster) -> Api<Job> {
    Api::namespaced(cluster.client.clone(), "ns")
}

fn job(name: &str, labels: Value) -> Job {
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "ns", "labels": labels},
        "spec": {
            "parallelism": 2, "completions": 2,
            "template": {
                "metadata": {"labels": {"app": "train"}},
                "spec": {"restartPolicy": "Never", "containers": [
                    {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]},
            },
        },
    }))
    .unwrap()
}

async fn create(cluster: &TestCluster, job: &Job) -> Job {
    jobs(cluster)
        .create(&PostParams::default(), job)
        .await
        .unwrap()
}

fn suspended(job: &Job) -> Option<bool> {
    job.spec.as_ref().and_then(|s| s.suspend)
}

fn template(job: &Job) -> Value {
    serde_json::to_value(&job.spec.as_ref().unwrap().template).unwrap()
}

/// Waits until a Job satisfies a condition.
async fn until(cluster: &TestCluster, name: &str, wanted: impl Fn(&Job) -> bool) -> Job {
    for _ in 0..2000 {
        let job = jobs(cluster).get(name).await.unwrap();
        if wanted(&job) {
            return job;
        }
        cluster
            .clock
            .sleep(std::time::Duration::from_millis(50))
            .await;
    }
    let job = jobs(cluster).get(name).await.unwrap();
    panic!("{name} does not satisfy the condition: {job:#?}");
}

fn name_of(job: &Job) -> String {
    let uid = job.metadata.uid.as_deref().unwrap();
    let name = job.metadata.name.as_deref().unwrap();
    workload_name(name, uid, &Gvk::new("batch", "v1", "Job"), "", false)
}

#[test]
fn a_job_runs_when_admitted_and_is_suspended_when_evicted() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES_WITH_FLAVOR).await;
        cluster.sleep(2).await;
        let created = create(
            &cluster,
            &job("train", json!({"kueue.x-k8s.io/queue-name": "lq"})),
        )
        .await;
        assert_eq!(suspended(&created), Some(true));
        let wl = name_of(&created);
        cluster.until(&wl, "Admitted", "True/Admitted").await;

        let workload = cluster.workloads().get(&wl).await.unwrap();
        let uid = created.metadata.uid.clone().unwrap();
        let labels = workload.metadata.labels.clone().unwrap();
        assert_eq!(labels.get("kueue.x-k8s.io/job-uid"), Some(&uid));
        let owners = workload.metadata.owner_references.clone().unwrap();
        assert_eq!(
            (owners.len(), owners[0].uid.as_str(), owners[0].controller),
            (1, uid.as_str(), Some(true))
        );
        assert_eq!(
            workload.metadata.finalizers.as_deref().unwrap(),
            ["kueue.x-k8s.io/resource-in-use"]
        );
        assert_eq!(
            (workload.spec.queue_name.as_str(), workload.spec.priority),
            ("lq", Some(0))
        );
        assert_eq!(
            (
                workload.spec.pod_sets[0].name.as_str(),
                workload.spec.pod_sets[0].count
            ),
            ("main", 2)
        );

        let running = until(&cluster, "train", |job| suspended(job) == Some(false)).await;
        let shown = template(&running);
        assert_eq!(shown["spec"]["nodeSelector"], json!({"gpu": "a100"}));
        assert_eq!(
            shown["spec"]["tolerations"],
            json!([{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}])
        );
        let labels = &shown["metadata"]["labels"];
        for (key, value) in [
            ("podset", "main"),
            ("local-queue-name", "lq"),
            ("cluster-queue-name", "cq"),
        ] {
            assert_eq!(labels[format!("kueue.x-k8s.io/{key}")], value);
        }
        assert_eq!(
            shown["metadata"]["annotations"],
            json!({"kueue.x-k8s.io/workload": wl})
        );

        cluster
            .patch("Workload", &wl, json!({"spec": {"active": false}}))
            .await;
        let stopped = until(&cluster, "train", |job| suspended(job) == Some(true)).await;
        let stopped = until(&cluster, "train", |job| {
            template(job)["spec"].get("nodeSelector").is_none()
        })
        .await
        .metadata
        .annotations
        .or(stopped.metadata.annotations);
        assert!(stopped.is_none_or(|a| !a.contains_key("kueue.x-k8s.io/stopping")));
        let restored = jobs(&cluster).get("train").await.unwrap();
        assert_eq!(template(&restored), template(&created));
        cluster
            .until(&wl, "QuotaReserved", "False/Deactivated")
            .await;

        cluster
            .patch("Workload", &wl, json!({"spec": {"active": true}}))
            .await;
        until(&cluster, "train", |job| suspended(job) == Some(false)).await;
        let done = json!({"status": {
            "startTime": cluster.clock.time(), "completionTime": cluster.clock.time(), "succeeded": 2,
            "conditions": [
                {"type": "SuccessCriteriaMet", "status": "True", "reason": "CompletionsReached"},
                {"type": "Complete", "status": "True", "reason": "CompletionsReached",
                    "message": "Reached expected number of succeeded pods"}],
        }});
        jobs(&cluster)
            .patch_status("train", &PatchParams::default(), &Patch::Merge(&done))
            .await
            .unwrap();
        cluster.until(&wl, "Finished", "True/Succeeded").await;
        let message = cluster.condition(&wl, "Finished").await.unwrap();
        assert_eq!(
            message,
            "True/Succeeded: Reached expected number of succeeded pods"
        );

        let events = cluster.events("train").await;
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let by = "batch/job-kueue-controller Normal";
        assert_eq!(
            events[0],
            format!("{by} CreatedWorkload: Created Workload: ns/{wl}")
        );
        assert_eq!(
            events[1],
            format!("{by} Started: Admitted by clusterQueue cq")
        );
        assert_eq!(
            events[2],
            format!("{by} Stopped: The workload is deactivated")
        );
        assert!(events.contains(
            &format!("{by} FinishedWorkload: Workload 'ns/{wl}' is declared finished").as_str()
        ));
    });
}

#[test]
fn jobs_without_a_queue_are_unmanaged_unless_a_default_local_queue_exists() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        let free = create(&cluster, &job("free", json!({}))).await;
        assert_eq!(suspended(&free), Some(false));
        cluster
            .apply("apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: default, namespace: ns}\nspec: {clusterQueue: cq}")
            .await;
        cluster.sleep(1).await;
        let managed = create(&cluster, &job("managed", json!({}))).await;
        assert_eq!(suspended(&managed), Some(true));
        let labels = managed.metadata.labels.clone().unwrap();
        assert_eq!(
            labels.get("kueue.x-k8s.io/queue-name").map(String::as_str),
            Some("default")
        );
        assert!(
            cluster
                .workloads()
                .get_opt(&name_of(&free))
                .await
                .unwrap()
                .is_none()
        );
    });
}

#[test]
fn updating_a_pending_job_updates_its_workload() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        let labels = json!({"kueue.x-k8s.io/queue-name": "nowhere"});
        let created = create(&cluster, &job("train", labels)).await;
        let wl = name_of(&created);
        cluster.sleep(1).await;
        let change = json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": {"parallelism": 1}});
        jobs(&cluster)
            .patch("train", &PatchParams::default(), &Patch::Merge(&change))
            .await
            .unwrap();
        until(&cluster, "train", |job| suspended(job) == Some(false)).await;
        let workload = cluster.workloads().get(&wl).await.unwrap();
        assert_eq!(
            (
                workload.spec.pod_sets[0].count,
                workload.spec.queue_name.as_str()
            ),
            (1, "lq")
        );
        let rejected = json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}});
        let rejected = jobs(&cluster)
            .patch("train", &PatchParams::default(), &Patch::Merge(&rejected))
            .await;
        assert!(rejected.unwrap_err().to_string().contains(
            "admission webhook \"vjob.kb.io\" denied the request: \
             metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"other\": field is immutable"
        ));
    });
}

#[test]
fn the_workload_of_a_deleted_job_is_finished() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        let created = create(
            &cluster,
            &job("train", json!({"kueue.x-k8s.io/queue-name": "lq"})),
        )
        .await;
        let wl = name_of(&created);
        cluster.until(&wl, "Admitted", "True/Admitted").await;
        jobs(&cluster)
            .delete("train", &DeleteParams::background())
            .await
            .unwrap();
        cluster.until(&wl, "Finished", "True/OwnerNotFound").await;
        cluster.sleep(2).await;
        let workload = cluster.workloads().get(&wl).await.unwrap();
        assert!(workload.metadata.finalizers.unwrap_or_default().is_empty());
        let queue = cluster.get("ClusterQueue", "cq").await;
        assert_eq!(queue["status"]["reservingWorkloads"], 0);
    });
}

#[test]
fn system_namespaces_are_not_managed() {
    with_cluster(async |cluster| {
        let system: Api<Namespace> = Api::all(cluster.client.clone());
        assert!(system.get_opt("kube-system").await.unwrap().is_some());
        let mut job = job("train", json!({"kueue.x-k8s.io/queue-name": "lq"}));
        job.metadata.namespace = Some("kube-system".into());
        let api: Api<Job> = Api::namespaced(cluster.client.clone(), "kube-system");
        let created = api.create(&PostParams::default(), &job).await.unwrap();
        cluster.sleep(1).await;
        let name = name_of(&created);
        let workloads: Api<kueue_lab_api::v1beta2::Workload> =
            Api::namespaced(cluster.client.clone(), "kube-system");
        assert!(workloads.get_opt(&name).await.unwrap().is_none());
    });
}
