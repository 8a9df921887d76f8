//! The other kinds: each runs in a worker, and the manager has its status.

use serde_json::{Value, json};

use crate::fixture::{Fixture, On, check, condition, with_workers};

const TEMPLATE: &str = "{spec: {restartPolicy: Never, containers: [{name: NAME, image: busybox, command: [sleep, '20'], resources: {requests: {cpu: 1}}}]}}";

fn object(api_version: &str, kind: &str, spec: &str) -> String {
    let template = |name: &str| TEMPLATE.replace("NAME", name);
    let spec = spec
        .replace("PYTORCH", &template("pytorch"))
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

#[test]
fn job_sets_finish() {
    with_workers(1, |f| async move {
        let spec = "{replicatedJobs: [{name: r, replicas: 1, template: {spec: {parallelism: 1, completions: 1, template: TEMPLATE}}}]}";
        finishes(
            &f,
            &object("jobset.x-k8s.io/v1alpha2", "JobSet", spec),
            "JobSet",
        )
        .await;
        f
    });
}

#[test]
fn kubeflow_jobs_finish() {
    with_workers(1, |f| async move {
        let spec = "{pytorchReplicaSpecs: {Master: {replicas: 1, restartPolicy: Never, template: PYTORCH}}}";
        finishes(
            &f,
            &object("kubeflow.org/v1", "PyTorchJob", spec),
            "PyTorchJob",
        )
        .await;
        let spec = "{slotsPerWorker: 1, mpiReplicaSpecs: {Launcher: {replicas: 1, restartPolicy: Never, template: TEMPLATE}, Worker: {replicas: 1, restartPolicy: Never, template: TEMPLATE}}}";
        finishes(
            &f,
            &object("kubeflow.org/v2beta1", "MPIJob", spec),
            "MPIJob",
        )
        .await;
        f
    });
}

#[test]
fn app_wrappers_finish() {
    with_workers(1, |f| async move {
        let spec = "{components: [{template: {apiVersion: batch/v1, kind: Job, metadata: {name: inner, namespace: default}, spec: {template: TEMPLATE}}}]}";
        let yaml = object("workload.codeflare.dev/v1beta2", "AppWrapper", spec);
        finishes(&f, &yaml, "AppWrapper").await;
        f
    });
}

#[test]
fn ray_clusters_have_the_status_of_the_worker() {
    with_workers(1, |f| async move {
        let spec = "{headGroupSpec: {rayStartParams: {}, template: RAY}, workerGroupSpecs: [{groupName: w, replicas: 1, minReplicas: 1, maxReplicas: 1, rayStartParams: {}, template: RAY}]}";
        admitted(&f, &object("ray.io/v1", "RayCluster", spec), "RayCluster").await;
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
