//! The other kinds: each runs in a worker, and the manager has its status.

use std::collections::BTreeSet;

use kueue_lab_api::config::FRAMEWORKS;
use serde_json::{Value, json};

use crate::fixture::{Fixture, On, with_workers};
use crate::objects::{check, condition};

const TEMPLATE: &str = "{spec: {restartPolicy: Never, containers: [{name: NAME, image: busybox, command: [sleep, '20'], resources: {requests: {cpu: 1}}}]}}";

const RAY_CLUSTER: &str = "{headGroupSpec: {rayStartParams: {}, template: RAY}, workerGroupSpecs: [{groupName: w, replicas: 1, minReplicas: 1, maxReplicas: 1, rayStartParams: {}, template: RAY}]}";

const TRAINING_RUNTIME: &str = "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, metadata: {name: torch, namespace: default}, spec: {mlPolicy: {numNodes: 1}, template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: node, image: busybox, command: [sleep, '20'], resources: {requests: {cpu: 1}}}]}}}}}]}}}}";

fn object(api_version: &str, kind: &str, spec: &str) -> String {
    let template = |name: &str| TEMPLATE.replace("NAME", name);
    let spec = spec
        .replace("RAY", &template("ray"))
        .replace("TEMPLATE", &template("c"));
    format!(
        "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq}}}}, spec: {spec}}}"
    )
}

/// Creates an object; returns the name of its Workload when it is admitted by the worker.
async fn admitted(f: &Fixture, yaml: &str, kind: &str) -> String {
    f.apply(On::Manager, yaml).await;
    let prefix = format!("{}-a-", kind.to_lowercase());
    let name = f.workload(On::Manager, &prefix).await;
    let workload = f
        .until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["clusterName"] == "worker1"
        })
        .await;
    assert_eq!(
        check(&workload).unwrap(),
        "Ready: The workload was admitted on \"worker1\"",
        "{kind}"
    );
    f.until(On::Worker(1), kind, "a", |_| true).await;
    name
}

async fn finishes(f: &Fixture, yaml: &str, kind: &str) {
    let name = admitted(f, yaml, kind).await;
    f.until(On::Manager, "Workload", &name, |wl| {
        condition(wl, "Finished").is_some_and(|c| c.starts_with("True/Succeeded"))
    })
    .await;
    f.until_gone(On::Worker(1), kind, "a").await;
}

/// A Kubeflow job with one replica of a type.
fn kubeflow(kind: &str, specs: &str, replica_type: &str, container: &str) -> String {
    let template = TEMPLATE.replace("NAME", container);
    let spec = format!(
        "{{{specs}: {{{replica_type}: {{replicas: 1, restartPolicy: Never, template: {template}}}}}}}"
    );
    object("kubeflow.org/v1", kind, &spec)
}

/// An object of each kind that ends.
fn jobs() -> Vec<(&'static str, String)> {
    let job_set = "{replicatedJobs: [{name: r, replicas: 1, template: {spec: {parallelism: 1, completions: 1, template: TEMPLATE}}}]}";
    let mpi_job = "{slotsPerWorker: 1, mpiReplicaSpecs: {Launcher: {replicas: 1, restartPolicy: Never, template: TEMPLATE}, Worker: {replicas: 1, restartPolicy: Never, template: TEMPLATE}}}";
    let ray_job = format!(
        "{{entrypoint: sleep 5, shutdownAfterJobFinishes: true, submissionMode: HTTPMode, rayClusterSpec: {RAY_CLUSTER}}}"
    );
    let train_job =
        "{runtimeRef: {name: torch, kind: TrainingRuntime, apiGroup: trainer.kubeflow.org}}";
    let app_wrapper = "{components: [{template: {apiVersion: batch/v1, kind: Job, metadata: {name: inner, namespace: default}, spec: {template: TEMPLATE}}}]}";
    vec![
        ("Job", object("batch/v1", "Job", "{template: TEMPLATE}")),
        (
            "JobSet",
            object("jobset.x-k8s.io/v1alpha2", "JobSet", job_set),
        ),
        (
            "PyTorchJob",
            kubeflow("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch"),
        ),
        (
            "TFJob",
            kubeflow("TFJob", "tfReplicaSpecs", "Worker", "tensorflow"),
        ),
        (
            "XGBoostJob",
            kubeflow("XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost"),
        ),
        (
            "PaddleJob",
            kubeflow("PaddleJob", "paddleReplicaSpecs", "Worker", "paddle"),
        ),
        ("MPIJob", object("kubeflow.org/v2beta1", "MPIJob", mpi_job)),
        ("RayJob", object("ray.io/v1", "RayJob", &ray_job)),
        (
            "TrainJob",
            object("trainer.kubeflow.org/v1alpha1", "TrainJob", train_job),
        ),
        (
            "AppWrapper",
            object("workload.codeflare.dev/v1beta2", "AppWrapper", app_wrapper),
        ),
    ]
}

/// The kinds of the other tests in this file.
const OTHERS: [&str; 6] = [
    "JAXJob",
    "LeaderWorkerSet",
    "Pod",
    "RayCluster",
    "RayService",
    "StatefulSet",
];

#[test]
fn every_kind_with_an_adapter_has_a_test() {
    let jobs = jobs();
    let jobs = jobs.iter().map(|(kind, _)| *kind);
    let tested: BTreeSet<&str> = jobs.chain(OTHERS).collect();
    let adapters = FRAMEWORKS.iter().filter(|framework| framework.multi_kueue);
    let adapters: BTreeSet<&str> = adapters.map(|framework| framework.kind).collect();
    assert_eq!(tested, adapters);
}

#[test]
fn jobs_of_every_kind_finish() {
    with_workers(1, |f| async move {
        for on in [On::Manager, On::Worker(1)] {
            f.apply(on, TRAINING_RUNTIME).await;
        }
        for (kind, yaml) in jobs() {
            finishes(&f, &yaml, kind).await;
        }
        f
    });
}

/// As upstream's: its webhooks allow prebuilt workloads for the kinds of a list without JAXJob.
#[test]
fn a_jax_job_is_refused_by_the_webhook_of_the_worker() {
    with_workers(1, |f| async move {
        let job = kubeflow("JAXJob", "jaxReplicaSpecs", "Worker", "jax");
        f.apply(On::Manager, &job).await;
        let name = f.workload(On::Manager, "jaxjob-a-").await;
        f.until(On::Worker(1), "Workload", &name, |wl| {
            condition(wl, "Admitted").is_some_and(|c| c.starts_with("True/"))
        })
        .await;
        f.sleep(60).await;
        assert!(f.find(On::Worker(1), "JAXJob", "a").await.is_none());
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(check(&workload).unwrap(), "Pending: ");
        f
    });
}

#[test]
fn ray_services_have_the_status_of_the_worker() {
    with_workers(1, |f| async move {
        let spec = format!("{{rayClusterConfig: {RAY_CLUSTER}}}");
        admitted(&f, &object("ray.io/v1", "RayService", &spec), "RayService").await;
        f.until(On::Manager, "RayService", "a", |service| {
            condition(service, "Ready").is_some_and(|c| c.starts_with("True/"))
        })
        .await;
        f
    });
}

#[test]
fn ray_clusters_have_the_status_of_the_worker() {
    with_workers(1, |f| async move {
        let yaml = object("ray.io/v1", "RayCluster", RAY_CLUSTER);
        admitted(&f, &yaml, "RayCluster").await;
        f.until(On::Manager, "RayCluster", "a", |cluster| {
            cluster["status"]["state"] == "ready"
        })
        .await;
        f
    });
}

#[test]
fn a_pod_stays_gated_in_the_manager_and_runs_in_the_worker() {
    with_workers(1, |f| async move {
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq}}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [sleep, '20'], resources: {requests: {cpu: 1}}}]}}";
        let name = admitted(&f, pod, "Pod").await;
        let running = f
            .until(On::Manager, "Pod", "a", |pod| {
                pod["status"]["phase"] == "Running"
            })
            .await;
        let gates = &running["spec"]["schedulingGates"];
        let gate = json!({"name": "kueue.x-k8s.io/admission"});
        assert!(gates.as_array().unwrap().contains(&gate), "{gates}");
        assert_eq!(running["spec"]["nodeName"], Value::Null);
        f.until(On::Manager, "Workload", &name, |wl| {
            condition(wl, "Finished").is_some_and(|c| c.starts_with("True/Succeeded"))
        })
        .await;
        f.until(On::Manager, "Pod", "a", |pod| {
            pod["status"]["phase"] == "Succeeded"
        })
        .await;
        f
    });
}

#[test]
fn a_pod_group_runs_in_one_worker() {
    with_workers(2, |f| async move {
        f.set_quota(On::Worker(2), 0).await;
        for name in ["p1", "p2"] {
            let pod = format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/pod-group-name: g}}, annotations: {{kueue.x-k8s.io/pod-group-total-count: '2'}}}}, spec: {{restartPolicy: Never, containers: [{{name: c, image: busybox, command: [sleep, '20'], resources: {{requests: {{cpu: 1}}}}}}]}}}}"
            );
            f.apply(On::Manager, &pod).await;
        }
        for name in ["p1", "p2"] {
            f.until(On::Worker(1), "Pod", name, |pod| {
                pod["status"]["phase"] == "Running"
            })
            .await;
        }
        for name in ["p1", "p2"] {
            f.until(On::Manager, "Pod", name, |pod| {
                pod["status"]["phase"] == "Succeeded"
            })
            .await;
        }
        f.until(On::Manager, "Workload", "g", |wl| {
            condition(wl, "Finished").is_some_and(|c| c.starts_with("True/Succeeded"))
        })
        .await;
        f
    });
}

#[test]
fn a_stateful_set_is_created_in_the_worker() {
    with_workers(1, |f| async move {
        let spec = "{replicas: 2, serviceName: a, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: busybox, command: [sleep, '3600'], resources: {requests: {cpu: 1}}}]}}}";
        admitted(&f, &object("apps/v1", "StatefulSet", spec), "StatefulSet").await;
        f.until(On::Worker(1), "StatefulSet", "a", |set| {
            set["status"]["readyReplicas"] == 2
        })
        .await;
        f
    });
}

#[test]
fn all_groups_of_a_leader_worker_set_go_to_one_worker() {
    with_workers(2, |f| async move {
        let pod = "{spec: {containers: [{name: c, image: busybox, command: [sleep, '3600'], resources: {requests: {cpu: 1}}}]}}";
        let spec =
            format!("{{replicas: 2, leaderWorkerTemplate: {{size: 1, workerTemplate: {pod}}}}}");
        let yaml = object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", &spec);
        f.apply(On::Manager, &yaml).await;
        let mut clusters = Vec::new();
        for index in [0, 1] {
            let name = f
                .workload(On::Manager, &format!("leaderworkerset-a-{index}-"))
                .await;
            let workload = f
                .until(On::Manager, "Workload", &name, |wl| {
                    wl["status"]["clusterName"].is_string()
                })
                .await;
            clusters.push(workload["status"]["clusterName"].clone());
        }
        assert_eq!(clusters[0], clusters[1]);
        f
    });
}
