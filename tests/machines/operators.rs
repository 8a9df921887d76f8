//! Stand-ins for the operators of job kinds: every kind runs to its end and stops on suspend.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::cluster_fixture::*;

/// Four nodes of 16 CPUs.
const NODES: &str = "- name: cpu\n  count: 4\n  resources: {cpu: 16, memory: 64Gi}\n";

/// The API of a kind: group, version, kind and plural.
fn api(
    client: &Client,
    (group, version, kind, plural): (&str, &str, &str, &str),
) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: group.into(),
        version: version.into(),
        api_version: match group {
            "" => version.into(),
            group => format!("{group}/{version}"),
        },
        kind: kind.into(),
        plural: plural.into(),
    };
    Api::namespaced_with(client.clone(), "test", &resource)
}

/// A container that runs a script, with requests of 100m.
fn container(script: &str) -> Value {
    json!({
        "name": "main",
        "image": "example.com/train",
        "command": ["sh", "-c", script],
        "resources": {"requests": {"cpu": "100m"}},
    })
}

fn template(script: &str) -> Value {
    json!({"spec": {"restartPolicy": "Never", "containers": [container(script)]}})
}

/// An object of a kind under test.
struct Subject<'a> {
    lab: &'a TestCluster,
    api: Api<DynamicObject>,
    name: String,
}

impl<'a> Subject<'a> {
    async fn create(lab: &'a TestCluster, kind: (&str, &str, &str, &str), spec: Value) -> Self {
        let object = json!({
            "apiVersion": format!("{}/{}", kind.0, kind.1),
            "kind": kind.2,
            "metadata": {"name": "a"},
            "spec": spec,
        });
        let api = api(&lab.client, kind);
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
        Self {
            lab,
            api,
            name: "a".into(),
        }
    }

    /// Waits until the status satisfies a condition.
    async fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..1_500 {
            let object = self.api.get(&self.name).await.unwrap();
            if wanted(&object.data["status"]) {
                return object.data["status"].clone();
            }
            self.lab.clock.sleep(Duration::from_millis(200)).await;
        }
        let object = self.api.get(&self.name).await.unwrap();
        panic!("not {what}: {:#} {:#?}", object.data, self.pods().await);
    }

    async fn patch(&self, spec: Value) {
        let patch = json!({"spec": spec});
        let params = PatchParams::default();
        self.api
            .patch(&self.name, &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// The names of all pods, sorted, and their phases.
    async fn pods(&self) -> Vec<String> {
        let pods = self.lab.pods.list(&ListParams::default()).await.unwrap();
        let text = |pod: &Pod| format!("{} {}", pod.name_any(), phase_of(pod));
        pods.items.iter().map(text).collect()
    }

    async fn wait_for_pods(&self, count: usize, phase: &str) {
        for _ in 0..1_500 {
            let pods = self.pods().await;
            if pods.len() == count && pods.iter().all(|pod| pod.ends_with(phase)) {
                return;
            }
            self.lab.clock.sleep(Duration::from_millis(200)).await;
        }
        panic!("not {count} pods {phase}: {:#?}", self.pods().await);
    }
}

/// Whether the condition of that type is True.
fn is_true(status: &Value, condition: &str) -> bool {
    let conditions = status["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|c| c["type"] == condition && c["status"] == "True")
}

const RAY_CLUSTER: (&str, &str, &str, &str) = ("ray.io", "v1", "RayCluster", "rayclusters");
const RAY_JOB: (&str, &str, &str, &str) = ("ray.io", "v1", "RayJob", "rayjobs");
const RAY_SERVICE: (&str, &str, &str, &str) = ("ray.io", "v1", "RayService", "rayservices");

fn ray_cluster_spec(workers: i32) -> Value {
    let ray = json!({"spec": {"containers": [{
        "name": "ray", "image": "rayproject/ray:2.46.0",
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
    }]}});
    json!({
        "headGroupSpec": {"rayStartParams": {}, "template": ray},
        "workerGroupSpecs": [{
            "groupName": "w", "replicas": workers, "minReplicas": 0, "maxReplicas": 9,
            "rayStartParams": {}, "template": ray,
        }],
    })
}

#[test]
fn ray_cluster_becomes_ready_scales_and_is_suspended() {
    with_operators(NODES, |lab| async move {
        let cluster = Subject::create(&lab, RAY_CLUSTER, ray_cluster_spec(2)).await;
        let status = cluster.wait("ready", |s| s["state"] == "ready").await;
        assert_eq!(status["desiredWorkerReplicas"], 2);
        assert_eq!(status["availableWorkerReplicas"], 2);
        assert_eq!(status["desiredCPU"], "1500m");
        assert_eq!(status["desiredMemory"], "3Gi");
        assert!(is_true(&status, "RayClusterProvisioned"));
        cluster.patch(ray_cluster_spec(1)).await;
        cluster.wait_for_pods(2, "Running").await;
        cluster.patch(json!({"suspend": true})).await;
        let status = cluster
            .wait("suspended", |s| s["state"] == "suspended")
            .await;
        assert!(is_true(&status, "RayClusterSuspended"));
        cluster.wait_for_pods(0, "").await;
        cluster.patch(json!({"suspend": false})).await;
        cluster.wait("ready", |s| s["state"] == "ready").await;
    });
}

fn ray_job_spec(entrypoint: &str) -> Value {
    json!({
        "entrypoint": entrypoint,
        "shutdownAfterJobFinishes": true,
        "rayClusterSpec": ray_cluster_spec(1),
    })
}

#[test]
fn ray_job_completes_and_deletes_its_cluster() {
    with_operators(NODES, |lab| async move {
        let job = Subject::create(&lab, RAY_JOB, ray_job_spec("python train.py; sleep 60")).await;
        let status = job.wait("running", |s| s["jobStatus"] == "RUNNING").await;
        assert_eq!(status["jobDeploymentStatus"], "Running");
        assert_eq!(status["rayClusterStatus"]["state"], "ready");
        job.wait_for_pods(3, "Running").await;
        let status = job
            .wait("complete", |s| s["jobDeploymentStatus"] == "Complete")
            .await;
        assert_eq!(status["jobStatus"], "SUCCEEDED");
        assert_eq!(status["succeeded"], 1);
        job.wait_for_pods(1, "Succeeded").await;
    });
}

#[test]
fn failed_entrypoint_fails_the_ray_job() {
    with_operators(NODES, |lab| async move {
        let mut spec = ray_job_spec("sleep 5; exit 3");
        spec["submitterConfig"] = json!({"backoffLimit": 0});
        let job = Subject::create(&lab, RAY_JOB, spec).await;
        let status = job
            .wait("failed", |s| s["jobDeploymentStatus"] == "Failed")
            .await;
        assert_eq!(status["jobStatus"], "FAILED");
        assert_eq!(status["reason"], "AppFailed");
    });
}

#[test]
fn suspended_ray_job_starts_again() {
    with_operators(NODES, |lab| async move {
        let mut spec = ray_job_spec("sleep 600");
        spec["suspend"] = json!(true);
        let job = Subject::create(&lab, RAY_JOB, spec).await;
        job.wait("suspended", |s| s["jobDeploymentStatus"] == "Suspended")
            .await;
        job.patch(json!({"suspend": false})).await;
        job.wait("running", |s| s["jobStatus"] == "RUNNING").await;
        job.patch(json!({"suspend": true})).await;
        let status = job
            .wait("suspended", |s| s["jobDeploymentStatus"] == "Suspended")
            .await;
        assert_eq!(status["rayClusterStatus"], Value::Null);
        job.wait_for_pods(0, "").await;
    });
}

#[test]
fn ray_job_without_submitter_completes() {
    for mode in ["HTTPMode", "SidecarMode"] {
        with_operators(NODES, |lab| async move {
            let mut spec = ray_job_spec("sleep 20");
            spec["submissionMode"] = json!(mode);
            let job = Subject::create(&lab, RAY_JOB, spec).await;
            let status = job
                .wait("complete", |s| s["jobDeploymentStatus"] == "Complete")
                .await;
            assert_eq!(status["jobStatus"], "SUCCEEDED", "{mode}");
            job.wait_for_pods(0, "").await;
        });
    }
}

#[test]
fn ray_service_is_ready_and_follows_its_cluster() {
    with_operators(NODES, |lab| async move {
        let spec = json!({"rayClusterConfig": ray_cluster_spec(1)});
        let service = Subject::create(&lab, RAY_SERVICE, spec).await;
        let status = service.wait("ready", |s| is_true(s, "Ready")).await;
        assert_eq!(status["serviceStatus"], "Running");
        assert_eq!(status["numServeEndpoints"], 2);
        service
            .patch(json!({"rayClusterConfig": {"suspend": true}}))
            .await;
        service.wait("not ready", |s| !is_true(s, "Ready")).await;
        service.wait_for_pods(0, "").await;
        service
            .patch(json!({"rayClusterConfig": {"suspend": false}}))
            .await;
        service.wait("ready", |s| is_true(s, "Ready")).await;
    });
}

const JOB_SET: (&str, &str, &str, &str) = ("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets");

fn job_set_spec(script: &str) -> Value {
    let job = json!({"spec": {
        "parallelism": 2, "completions": 2, "backoffLimit": 0, "template": template(script),
    }});
    json!({"replicatedJobs": [
        {"name": "leader", "replicas": 1, "template": {"spec": {"backoffLimit": 0, "template": template(script)}}},
        {"name": "workers", "replicas": 2, "template": job},
    ]})
}

#[test]
fn job_set_completes() {
    with_operators(NODES, |lab| async move {
        let mut spec = job_set_spec("sleep 30");
        spec["suspend"] = json!(true);
        let set = Subject::create(&lab, JOB_SET, spec).await;
        let status = set.wait("suspended", |s| is_true(s, "Suspended")).await;
        assert_eq!(status["replicatedJobsStatus"][1]["suspended"], 0);
        set.wait("suspended jobs", |s| {
            s["replicatedJobsStatus"][1]["suspended"] == 2
        })
        .await;
        set.patch(json!({"suspend": false})).await;
        set.wait_for_pods(5, "Running").await;
        set.wait("ready", |s| s["replicatedJobsStatus"][1]["ready"] == 2)
            .await;
        let status = set.wait("completed", |s| is_true(s, "Completed")).await;
        assert_eq!(status["terminalState"], "Completed");
        assert_eq!(status["replicatedJobsStatus"][1]["succeeded"], 2);
    });
}

#[test]
fn job_set_is_suspended_restarted_and_fails() {
    with_operators(NODES, |lab| async move {
        let set = Subject::create(&lab, JOB_SET, job_set_spec("sleep 600")).await;
        set.wait_for_pods(5, "Running").await;
        set.patch(json!({"suspend": true})).await;
        set.wait("suspended", |s| is_true(s, "Suspended")).await;
        set.wait_for_pods(0, "").await;
    });
    with_operators(NODES, |lab| async move {
        let mut spec = job_set_spec("sleep 5; exit 1");
        spec["failurePolicy"] = json!({"maxRestarts": 1});
        let set = Subject::create(&lab, JOB_SET, spec).await;
        let status = set.wait("failed", |s| is_true(s, "Failed")).await;
        assert_eq!(status["restarts"], 1);
        assert_eq!(status["terminalState"], "Failed");
    });
}
