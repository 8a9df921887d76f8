//! Jobs without MultiKueue in the manager and in the workers, and kinds that MultiKueue does not sync.

use kueue_lab_api::config::load;
use serde_json::json;

use crate::fixture::{On, with_config, with_workers};
use crate::objects::{check, condition, job};

const OTHER_QUEUES: &str = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: other}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: default-flavor, resources: [{name: cpu, nominalQuota: 4}]}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: other, namespace: default}
spec: {clusterQueue: other}";

#[test]
fn jobs_of_other_queues_of_the_manager_run_there() {
    with_workers(1, |f| async move {
        f.apply(On::Manager, OTHER_QUEUES).await;
        let local = job("local", 1, 3600).replace("queue-name: lq", "queue-name: other");
        f.apply(On::Manager, &local).await;
        f.apply(On::Manager, &job("remote", 1, 3600)).await;
        f.until(On::Manager, "Job", "local", |job| {
            job["status"]["active"] == 1
        })
        .await;
        f.until(On::Worker(1), "Job", "remote", |job| {
            job["status"]["active"] == 1
        })
        .await;
        let job = f.find(On::Manager, "Job", "local").await.unwrap();
        assert_eq!(job["spec"]["managedBy"], json!(null));
        let pods = f.list(On::Manager, "Pod").await;
        let names = pods
            .iter()
            .map(|pod| pod["metadata"]["labels"]["job-name"].clone());
        assert_eq!(names.collect::<Vec<_>>(), [json!("local")]);
        assert!(f.find(On::Worker(1), "Job", "local").await.is_none());
        f
    });
}

#[test]
fn jobs_of_the_worker_itself_share_its_quota() {
    with_workers(1, |f| async move {
        f.apply(On::Worker(1), &job("own", 3, 30)).await;
        f.until(On::Worker(1), "Job", "own", |job| {
            job["status"]["active"] == 1
        })
        .await;
        f.apply(On::Manager, &job("a", 3, 30)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Worker(1), "Workload", &name, |wl| {
            condition(wl, "QuotaReserved").is_some_and(|c| c.starts_with("False"))
        })
        .await;
        let finished = |wl: &serde_json::Value| {
            condition(wl, "Finished").is_some_and(|c| c.starts_with("True/Succeeded"))
        };
        f.until(On::Manager, "Workload", &name, finished).await;
        // Garbage collection leaves objects without the label of the manager.
        f.sleep(120).await;
        assert!(f.find(On::Worker(1), "Job", "own").await.is_some());
        f
    });
}

#[test]
fn a_job_of_the_worker_with_the_same_name_is_not_deleted() {
    with_workers(1, |f| async move {
        let own = job("a", 1, 3600).replace(", labels: {kueue.x-k8s.io/queue-name: lq}", "");
        f.apply(On::Worker(1), &own).await;
        let before = f.find(On::Worker(1), "Job", "a").await.unwrap();
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Worker(1), "Workload", &name, |_| true).await;
        f.sleep(60).await;
        f.delete(On::Manager, "Job", "a").await;
        f.until_gone(On::Worker(1), "Workload", &name).await;
        let after = f.find(On::Worker(1), "Job", "a").await.unwrap();
        assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
        f
    });
}

#[test]
fn only_enabled_frameworks_are_dispatched() {
    let only_jobs = |config: &mut _| {
        let text = "apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job]}
";
        *config = load(text).unwrap();
    };
    with_config(1, only_jobs, |f| async move {
        let template = "{spec: {restartPolicy: Never, containers: [{name: c, image: busybox, resources: {requests: {cpu: 1}}}]}}";
        let mpi_job = format!(
            "{{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, metadata: {{name: m, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq}}}}, spec: {{runPolicy: {{suspend: true, managedBy: kueue.x-k8s.io/multikueue}}, mpiReplicaSpecs: {{Launcher: {{replicas: 1, template: {template}}}}}}}}}"
        );
        f.apply(On::Manager, &mpi_job).await;
        f.apply(On::Manager, &job("a", 1, 30)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        assert_eq!(f.until_dispatched(&name).await, 1);
        assert_eq!(f.list(On::Manager, "Workload").await.len(), 1);
        assert!(f.find(On::Worker(1), "MPIJob", "m").await.is_none());
        f
    });
}

#[test]
fn kubeflow_jobs_of_another_controller_are_rejected() {
    with_workers(1, |f| async move {
        let template = "{spec: {restartPolicy: Never, containers: [{name: NAME, image: busybox, resources: {requests: {cpu: 1}}}]}}";
        let other = "runPolicy: {managedBy: example.com/other}";
        let pytorch = template.replace("NAME", "pytorch");
        let jobs = [
            (
                "mpijob-m-",
                "spec.runPolicy.managedBy",
                format!(
                    "{{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, metadata: {{name: m, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq}}}}, spec: {{{}, mpiReplicaSpecs: {{Launcher: {{replicas: 1, restartPolicy: Never, template: {template}}}}}}}}}",
                    other
                ),
            ),
            (
                "pytorchjob-p-",
                "spec.managedBy",
                format!(
                    "{{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {{name: p, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq}}}}, spec: {{{other}, pytorchReplicaSpecs: {{Master: {{replicas: 1, restartPolicy: Never, template: {pytorch}}}}}}}}}"
                ),
            ),
        ];
        for (prefix, field, yaml) in jobs {
            f.apply(On::Manager, &yaml.replace("NAME", "c")).await;
            let name = f.workload(On::Manager, prefix).await;
            let rejected = f
                .until(On::Manager, "Workload", &name, |wl| {
                    check(wl).is_some_and(|c| c.starts_with("Rejected"))
                })
                .await;
            let message = check(&rejected).unwrap();
            let expected = format!(
                "Rejected: The owner is not managed by Kueue: Expecting {field} to be \"kueue.x-k8s.io/multikueue\" not \"example.com/other\""
            );
            assert!(message.starts_with(&expected), "{message}");
        }
        f
    });
}
