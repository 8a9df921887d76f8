//! Stand-ins for the operators of job kinds: every kind runs to its end and stops on suspend.

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kube::ResourceExt;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams,
};
use serde_json::{Value, json};

use super::cluster_fixture::*;
use super::operator_subject::*;

pub(crate) const RAY_CLUSTER: (&str, &str, &str, &str) =
    ("ray.io", "v1", "RayCluster", "rayclusters");
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

#[test]
fn head_of_an_autoscaled_ray_cluster_has_the_sidecar() {
    with_operators(NODES, |lab| async move {
        let mut spec = ray_cluster_spec(1);
        spec["enableInTreeAutoscaling"] = json!(true);
        spec["autoscalerOptions"] = json!({
            "imagePullPolicy": "Never",
            "env": [{"name": "OWN", "value": "1"}],
        });
        let cluster = Subject::create(&lab, RAY_CLUSTER, spec).await;
        let status = cluster.wait("ready", |s| s["state"] == "ready").await;
        let head = status["head"]["podName"].as_str().unwrap();
        let head = lab.pods.get(head).await.unwrap().spec.unwrap();
        let [ray, autoscaler] = head.containers.as_slice() else {
            panic!("{:?}", head.containers);
        };
        assert_eq!(autoscaler.name, "autoscaler");
        assert_eq!(autoscaler.image, ray.image);
        assert_eq!(autoscaler.image_pull_policy.as_deref(), Some("Never"));
        let requests = autoscaler.resources.clone().unwrap().requests.unwrap();
        assert_eq!(requests["cpu"].0, "500m");
        assert_eq!(requests["memory"].0, "512Mi");
        let variables = autoscaler.env.as_deref().unwrap();
        assert!(variables.iter().any(|variable| variable.name == "OWN"));
        cluster.wait_for_pods(2, "Running").await;
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

pub(crate) const JOB_SET: (&str, &str, &str, &str) =
    ("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets");

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
        set.wait("suspended", |s| is_true(s, "Suspended")).await;
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

/// Replicas of a Kubeflow job.
fn replicas(count: i32, script: &str) -> Value {
    let mut template = template(script);
    template["spec"]
        .as_object_mut()
        .unwrap()
        .remove("restartPolicy");
    json!({"replicas": count, "restartPolicy": "Never", "template": template})
}

#[test]
fn training_jobs_succeed() {
    for (kind, plural, specs, leader) in [
        (
            "PyTorchJob",
            "pytorchjobs",
            "pytorchReplicaSpecs",
            Some("Master"),
        ),
        ("TFJob", "tfjobs", "tfReplicaSpecs", Some("Chief")),
        (
            "XGBoostJob",
            "xgboostjobs",
            "xgbReplicaSpecs",
            Some("Master"),
        ),
        (
            "PaddleJob",
            "paddlejobs",
            "paddleReplicaSpecs",
            Some("Master"),
        ),
        ("JAXJob", "jaxjobs", "jaxReplicaSpecs", None),
    ] {
        with_operators(NODES, |lab| async move {
            let mut all = json!({"Worker": replicas(2, "sleep 30")});
            let pods = 2 + usize::from(leader.is_some());
            if let Some(leader) = leader {
                all[leader] = replicas(1, "sleep 30");
            }
            let spec = json!({"runPolicy": {"suspend": true}, specs: all});
            let job = Subject::create(&lab, ("kubeflow.org", "v1", kind, plural), spec).await;
            job.wait("suspended", |s| is_true(s, "Suspended")).await;
            job.patch(json!({"runPolicy": {"suspend": false}})).await;
            let status = job
                .wait("running", |s| {
                    is_true(s, "Running") && s["replicaStatuses"]["Worker"]["active"] == 2
                })
                .await;
            assert!(!is_true(&status, "Suspended"), "{kind}");
            job.wait_for_pods(pods, "Running").await;
            let status = job.wait("succeeded", |s| is_true(s, "Succeeded")).await;
            assert!(status["completionTime"].is_string(), "{kind}");
        });
    }
}

pub(crate) const PY_TORCH_JOB: (&str, &str, &str, &str) =
    ("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs");

#[test]
fn training_job_is_suspended_or_fails() {
    with_operators(NODES, |lab| async move {
        let spec = json!({"pytorchReplicaSpecs": {"Worker": replicas(2, "sleep 600")}});
        let job = Subject::create(&lab, PY_TORCH_JOB, spec).await;
        job.wait("running", |s| is_true(s, "Running")).await;
        job.patch(json!({"runPolicy": {"suspend": true}})).await;
        let status = job.wait("suspended", |s| is_true(s, "Suspended")).await;
        assert!(!is_true(&status, "Running"));
        job.wait_for_pods(0, "").await;
    });
    with_operators(NODES, |lab| async move {
        let spec = json!({"pytorchReplicaSpecs": {
            "Master": replicas(1, "sleep 600"), "Worker": replicas(1, "exit 2")}});
        let job = Subject::create(&lab, PY_TORCH_JOB, spec).await;
        let status = job.wait("failed", |s| is_true(s, "Failed")).await;
        assert!(!is_true(&status, "Running"));
    });
}

const MPI_JOB: (&str, &str, &str, &str) = ("kubeflow.org", "v2beta1", "MPIJob", "mpijobs");

#[test]
fn mpi_job_succeeds_and_is_suspended() {
    let spec = |script: &str| {
        let mut worker = replicas(2, "");
        worker["template"]["spec"]["containers"][0]
            .as_object_mut()
            .unwrap()
            .remove("command");
        json!({
            "runPolicy": {"suspend": true, "cleanPodPolicy": "Running"},
            "mpiReplicaSpecs": {"Launcher": replicas(1, script), "Worker": worker},
        })
    };
    with_operators(NODES, |lab| async move {
        let job = Subject::create(&lab, MPI_JOB, spec("sleep 60")).await;
        job.wait("suspended", |s| is_true(s, "Suspended")).await;
        job.patch(json!({"runPolicy": {"suspend": false}})).await;
        job.wait("running", |s| is_true(s, "Running")).await;
        let config_maps: Api<ConfigMap> = Api::namespaced(lab.client.clone(), "test");
        let own = &job.name;
        let worker = |index: usize| format!("{own}-worker-{index}.{own}.test.svc");
        let config_map = config_maps.get(&format!("{own}-config")).await.unwrap();
        let hostfile = format!("{} slots=1\n{} slots=1\n", worker(0), worker(1));
        assert_eq!(config_map.data.unwrap()["hostfile"], hostfile);
        let services: Api<Service> = Api::namespaced(lab.client.clone(), "test");
        let service = services.get(own).await.unwrap().spec.unwrap();
        assert_eq!(service.cluster_ip.as_deref(), Some("None"));
        job.wait("succeeded", |s| is_true(s, "Succeeded")).await;
        job.wait_for_pods(1, "Succeeded").await;
    });
    with_operators(NODES, |lab| async move {
        let job = Subject::create(&lab, MPI_JOB, spec("sleep 600")).await;
        job.patch(json!({"runPolicy": {"suspend": false}})).await;
        job.wait("running", |s| is_true(s, "Running")).await;
        job.patch(json!({"runPolicy": {"suspend": true}})).await;
        job.wait("suspended", |s| is_true(s, "Suspended")).await;
        job.wait_for_pods(0, "").await;
    });
}

#[test]
fn storage_of_a_deleted_ray_cluster_with_gcs_fault_tolerance_is_cleaned_up() {
    with_operators(NODES, |lab| async move {
        let mut spec = ray_cluster_spec(1);
        spec["gcsFaultToleranceOptions"] = json!({"redisAddress": "redis:6379"});
        let cluster = Subject::create(&lab, RAY_CLUSTER, spec).await;
        cluster.wait_for_pods(2, "Running").await;
        let object = cluster.api.get(&cluster.name).await.unwrap();
        assert_eq!(
            object.finalizers(),
            ["ray.io/gcs-ft-redis-cleanup-finalizer"]
        );
        let uid = object.uid().unwrap();
        let head = ListParams::default().labels("ray.io/node-type=head");
        let head = lab.pods.list(&head).await.unwrap().items.remove(0);
        assert_eq!(head.annotations()["ray.io/external-storage-namespace"], uid);
        let value = |pod: &Pod, name: &str| {
            let container = &pod.spec.as_ref().unwrap().containers[0];
            let mut variables = container.env.iter().flatten();
            variables
                .find(|v| v.name == name)
                .unwrap()
                .value
                .clone()
                .unwrap()
        };
        assert_eq!(value(&head, "RAY_REDIS_ADDRESS"), "redis:6379");
        assert_eq!(value(&head, "RAY_external_storage_namespace"), uid);

        let jobs: Api<Job> = Api::namespaced(lab.client.clone(), "test");
        let params = DeleteParams::default();
        cluster.api.delete(&cluster.name, &params).await.unwrap();
        let job = loop {
            let jobs = jobs.list(&ListParams::default()).await.unwrap();
            if let Some(job) = jobs.items.into_iter().next() {
                break job;
            }
            let object = cluster.api.get(&cluster.name).await.unwrap();
            assert!(object.metadata.deletion_timestamp.is_some());
            lab.clock.sleep(Duration::from_millis(200)).await;
        };
        assert_eq!(job.name_any(), "a-redis-cleanup");
        assert_eq!(job.labels()["ray.io/node-type"], "redis-cleanup");
        let rays = ListParams::default().labels("ray.io/node-type=head");
        assert!(lab.pods.list(&rays).await.unwrap().items.is_empty());
        for _ in 0..1_500 {
            if cluster.api.get_opt(&cluster.name).await.unwrap().is_none() {
                return;
            }
            lab.clock.sleep(Duration::from_millis(200)).await;
        }
        panic!("the cluster is not deleted");
    });
}

#[test]
fn launcher_of_an_mpi_job_that_runs_as_worker_is_the_first_replica() {
    with_operators(NODES, |lab| async move {
        let spec = |workers: i32| {
            json!({
                "runLauncherAsWorker": true,
                "mpiReplicaSpecs": {"Launcher": replicas(1, "sleep 600"), "Worker": replicas(workers, "sleep 600")},
            })
        };
        let job = Subject::create(&lab, MPI_JOB, spec(2)).await;
        let indexes = async |count: usize| {
            job.wait_for_pods(count, "Running").await;
            let pods = lab.pods.list(&ListParams::default()).await.unwrap();
            let label = |pod: &Pod, name: &str| {
                let name = format!("training.kubeflow.org/{name}");
                pod.labels().get(&name).cloned().unwrap_or_default()
            };
            let labels = |pod: &Pod| (label(pod, "replica-index"), label(pod, "job-role"));
            let mut indexes: Vec<(String, String)> = pods.items.iter().map(labels).collect();
            indexes.sort();
            indexes
        };
        let pair = |index: &str, role: &str| (index.to_owned(), role.to_owned());
        let (launcher, first, second) = (
            pair("0", "launcher"),
            pair("1", "worker"),
            pair("2", "worker"),
        );
        assert_eq!(indexes(3).await, [launcher.clone(), first.clone(), second]);
        job.patch(spec(1)).await;
        assert_eq!(indexes(2).await, [launcher, first]);
    });
}

const TRAIN_JOB: (&str, &str, &str, &str) =
    ("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs");

#[test]
fn train_job_runs_the_job_set_of_its_runtime() {
    with_operators(NODES, |lab| async move {
        let mut node = template("sleep 30");
        node["spec"]["containers"][0]["name"] = json!("node");
        let runtime = json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
            "metadata": {"name": "torch"},
            "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [{
                "name": "node",
                "template": {
                    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                    "spec": {"template": node},
                },
            }]}}},
        });
        let runtimes = api(
            &lab.client,
            (
                "trainer.kubeflow.org",
                "v1alpha1",
                "TrainingRuntime",
                "trainingruntimes",
            ),
        );
        let runtime: DynamicObject = serde_json::from_value(runtime).unwrap();
        runtimes
            .create(&PostParams::default(), &runtime)
            .await
            .unwrap();
        let spec = json!({
            "suspend": true,
            "runtimeRef": {"kind": "TrainingRuntime", "name": "torch"},
            "trainer": {"numNodes": 3},
        });
        let job = Subject::create(&lab, TRAIN_JOB, spec).await;
        job.wait("suspended", |s| is_true(s, "Suspended")).await;
        job.patch(json!({"suspend": false})).await;
        job.wait_for_pods(3, "Running").await;
        job.wait("ready", |s| s["jobsStatus"][0]["ready"] == 1)
            .await;
        job.patch(json!({"suspend": true})).await;
        job.wait("stopped", |s| s["jobsStatus"][0]["active"] == 0)
            .await;
        job.wait_for_pods(0, "").await;
        job.patch(json!({"suspend": false})).await;
        let status = job.wait("complete", |s| is_true(s, "Complete")).await;
        assert_eq!(status["jobsStatus"][0]["succeeded"], 1);
    });
}

pub(crate) const LEADER_WORKER_SET: (&str, &str, &str, &str) = (
    "leaderworkerset.x-k8s.io",
    "v1",
    "LeaderWorkerSet",
    "leaderworkersets",
);

#[test]
fn leader_worker_set_becomes_available_and_scales() {
    with_operators(NODES, |lab| async move {
        let template = json!({"spec": {"containers": [container("sleep infinity")]}});
        let spec = json!({
            "replicas": 2,
            "leaderWorkerTemplate": {"size": 3, "workerTemplate": template},
        });
        let set = Subject::create(&lab, LEADER_WORKER_SET, spec).await;
        let status = set.wait("available", |s| is_true(s, "Available")).await;
        assert_eq!(status["readyReplicas"], 2);
        set.wait_for_pods(6, "Running").await;
        let pod = lab.pods.get("a-1-2").await.unwrap();
        let labels = pod.labels();
        assert_eq!(labels["leaderworkerset.sigs.k8s.io/group-index"], "1");
        assert_eq!(labels["leaderworkerset.sigs.k8s.io/worker-index"], "2");
        set.patch(json!({"replicas": 1})).await;
        set.wait_for_pods(3, "Running").await;
        set.wait("scaled", |s| s["readyReplicas"] == 1).await;
        set.patch(json!({"replicas": 0})).await;
        set.wait_for_pods(0, "").await;
    });
}

/// A LeaderWorkerSet of two groups of two pods, with these fields of its spec.
async fn two_groups<'a>(lab: &'a TestCluster, fields: Value) -> Subject<'a> {
    let template = json!({"spec": {"containers": [container("sleep infinity")]}});
    let mut spec = json!({
        "replicas": 2,
        "leaderWorkerTemplate": {
            "size": 2,
            "workerTemplate": template,
            "restartPolicy": "RecreateGroupOnPodRestart",
        },
    });
    for (field, value) in fields.as_object().unwrap() {
        spec[field] = value.clone();
    }
    let set = Subject::create(lab, LEADER_WORKER_SET, spec).await;
    let status = set.wait("available", |s| is_true(s, "Available")).await;
    let mut conditions = status["conditions"].as_array().unwrap().iter();
    assert!(
        !conditions.any(|c| c["type"] == "UpdateInProgress"),
        "{status}"
    );
    set
}

#[test]
fn leader_worker_set_updates_with_surge_groups() {
    with_operators(NODES, |lab| async move {
        let configuration = json!({"maxUnavailable": 0, "maxSurge": 1, "partition": 0});
        let strategy =
            json!({"type": "RollingUpdate", "rollingUpdateConfiguration": configuration});
        let set = two_groups(&lab, json!({"rolloutStrategy": strategy})).await;
        set.wait_for_pods(4, "Running").await;
        let version = set.api.get("a").await.unwrap().resource_version().unwrap();
        let events = set.api.watch(&WatchParams::default(), &version).await;
        let mut events = std::pin::pin!(events.unwrap());
        let template = json!({"spec": {"containers": [container("sleep 1000000")]}});
        set.patch(json!({"leaderWorkerTemplate": {"workerTemplate": template}}))
            .await;
        let (mut most, mut fewest_ready, mut was_updating) = (0, i64::MAX, false);
        let status = loop {
            let Some(event) = events.try_next().await.unwrap() else {
                panic!("the watch ended");
            };
            let WatchEvent::Modified(object) = event else {
                continue;
            };
            let status = &object.data["status"];
            most = most.max(status["replicas"].as_i64().unwrap());
            fewest_ready = fewest_ready.min(status["readyReplicas"].as_i64().unwrap());
            was_updating |= is_true(status, "UpdateInProgress");
            let is_done = is_true(status, "Available") && status["replicas"] == 2;
            if is_done && status["observedGeneration"] == 2 {
                break status.clone();
            }
        };
        assert!(was_updating);
        assert_eq!(
            (most, fewest_ready),
            (3, 2),
            "one group more, never one less"
        );
        assert_eq!(status["updatedReplicas"], 2);
        assert!(!is_true(&status, "UpdateInProgress"), "{status}");
        set.wait_for_pods(4, "Running").await;
        for pod in lab.pods.list(&ListParams::default()).await.unwrap() {
            let arguments = format!("{:?}", pod.spec.unwrap().containers[0]);
            assert!(arguments.contains("sleep 1000000"), "{arguments}");
        }
    });
}

#[test]
fn leader_worker_set_recreates_the_group_of_a_deleted_worker() {
    with_operators(NODES, |lab| async move {
        let set = two_groups(&lab, json!({})).await;
        set.wait_for_pods(4, "Running").await;
        let uids = async || {
            let pods = lab.pods.list(&ListParams::default()).await.unwrap();
            let running = pods.iter().filter(|pod| {
                let status = pod.status.as_ref().unwrap();
                pod.metadata.deletion_timestamp.is_none()
                    && status.phase.as_deref() == Some("Running")
            });
            let uids = running.map(|pod| (pod.name_any(), pod.uid().unwrap()));
            uids.collect::<std::collections::BTreeMap<_, _>>()
        };
        let before = uids().await;
        let params = DeleteParams::default();
        lab.pods.delete("a-0-1", &params).await.unwrap();
        let mut after = uids().await;
        for _ in 0..600 {
            if after.len() == 4 && after["a-0"] != before["a-0"] {
                break;
            }
            lab.clock.sleep(Duration::from_secs(1)).await;
            after = uids().await;
        }
        let changed = |name: &str| before[name] != after[name];
        assert!(changed("a-0") && changed("a-0-1"), "{before:?} {after:?}");
        assert!(!changed("a-1") && !changed("a-1-1"), "{before:?} {after:?}");
        set.wait("available", |s| is_true(s, "Available")).await;
        // The new group is not recreated again.
        lab.clock.sleep(Duration::from_secs(120)).await;
        assert_eq!(uids().await, after);
    });
}

const APP_WRAPPER: (&str, &str, &str, &str) = (
    "workload.codeflare.dev",
    "v1beta2",
    "AppWrapper",
    "appwrappers",
);

fn app_wrapper_spec(script: &str) -> Value {
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "wrapped"},
        "spec": {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": template(script)},
    });
    json!({"suspend": true, "components": [{"template": job}]})
}

#[test]
fn app_wrapper_succeeds_is_suspended_or_fails() {
    with_operators(NODES, |lab| async move {
        let wrapper = Subject::create(&lab, APP_WRAPPER, app_wrapper_spec("sleep 60")).await;
        wrapper
            .wait("suspended", |s| s["phase"] == "Suspended")
            .await;
        wrapper.patch(json!({"suspend": false})).await;
        wrapper.wait("ready", |s| is_true(s, "PodsReady")).await;
        wrapper.wait_for_pods(2, "Running").await;
        wrapper.patch(json!({"suspend": true})).await;
        let status = wrapper
            .wait("suspended", |s| s["phase"] == "Suspended")
            .await;
        assert!(!is_true(&status, "QuotaReserved"));
        wrapper.wait_for_pods(0, "").await;
        wrapper.patch(json!({"suspend": false})).await;
        let status = wrapper
            .wait("succeeded", |s| s["phase"] == "Succeeded")
            .await;
        assert!(!is_true(&status, "QuotaReserved"));
        assert!(is_true(&status, "ResourcesDeployed"));
    });
    with_operators(NODES, |lab| async move {
        let wrapper = Subject::create(&lab, APP_WRAPPER, app_wrapper_spec("exit 1")).await;
        wrapper.patch(json!({"suspend": false})).await;
        wrapper.wait("failed", |s| s["phase"] == "Failed").await;
        wrapper
            .wait("cleaned", |s| !is_true(s, "ResourcesDeployed"))
            .await;
        wrapper.wait_for_pods(0, "").await;
    });
}

const SPARK_APPLICATION: (&str, &str, &str, &str) = (
    "sparkoperator.k8s.io",
    "v1beta2",
    "SparkApplication",
    "sparkapplications",
);

#[test]
fn spark_application_completes_and_is_suspended() {
    let spec = || {
        json!({
            "type": "Scala", "mode": "cluster", "sparkVersion": "3.5.3", "image": "spark:3.5.3",
            "mainClass": "org.apache.spark.examples.SparkPi",
            "mainApplicationFile": "local:///opt/spark/examples/jars/spark-examples.jar",
            "driver": {"cores": 1, "memory": "512m"},
            "executor": {"cores": 1, "memory": "512m", "instances": 2},
        })
    };
    with_operators(NODES, |lab| async move {
        let app = Subject::create(&lab, SPARK_APPLICATION, spec()).await;
        app.wait("running", |s| s["applicationState"]["state"] == "RUNNING")
            .await;
        app.wait_for_pods(3, "Running").await;
        let status = app
            .wait("completed", |s| {
                s["applicationState"]["state"] == "COMPLETED"
            })
            .await;
        assert!(status["terminationTime"].is_string());
        app.wait_for_pods(1, "Succeeded").await;
    });
    with_operators(NODES, |lab| async move {
        let mut spec = spec();
        spec["driver"]["annotations"] = json!({"kueue-lab.dev/run-for": "1h"});
        spec["suspend"] = json!(true);
        let app = Subject::create(&lab, SPARK_APPLICATION, spec).await;
        app.wait("suspended", |s| {
            s["applicationState"]["state"] == "SUSPENDED"
        })
        .await;
        app.patch(json!({"suspend": false})).await;
        app.wait_for_pods(3, "Running").await;
        app.patch(json!({"suspend": true})).await;
        app.wait("suspended", |s| {
            s["applicationState"]["state"] == "SUSPENDED"
        })
        .await;
        app.wait_for_pods(0, "").await;
    });
}
