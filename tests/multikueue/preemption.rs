//! Priorities in the manager, and preemption there.

use kueue_lab_api::config::Feature;
use serde_json::json;

use crate::fixture::{Fixture, On, enable, with_config, with_workers};
use crate::objects::{condition, job};

const CLASSES: &str = "apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 10
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100";

fn job_of_class(name: &str, cpu: u32, class: &str) -> String {
    let label = format!("queue-name: lq, kueue.x-k8s.io/priority-class: {class}");
    job(name, cpu, 3600).replace("queue-name: lq", &label)
}

async fn classes_in(f: &Fixture, clusters: &[On]) {
    for on in clusters {
        f.apply(*on, CLASSES).await;
    }
}

/// Creates a Job of 3 CPUs with the name of its class; returns its Workload and the worker that admits it.
async fn dispatched(f: &Fixture, class: &str) -> (String, usize) {
    f.apply(On::Manager, &job_of_class(class, 3, class)).await;
    let name = f.workload(On::Manager, &format!("job-{class}-")).await;
    let worker = f.until_dispatched(&name).await;
    (name, worker)
}

async fn until_active(f: &Fixture, on: On, name: &str) {
    f.until(on, "Job", name, |job| job["status"]["active"] == 1)
        .await;
}

#[test]
fn a_job_with_a_higher_priority_preempts_in_the_manager() {
    with_workers(2, |f| async move {
        classes_in(&f, &[On::Manager]).await;
        f.set_quota(On::Worker(2), 0).await;
        let (low, worker) = dispatched(&f, "low").await;
        assert_eq!(worker, 1);
        until_active(&f, On::Worker(1), "low").await;
        let (_, worker) = dispatched(&f, "high").await;
        assert_eq!(worker, 1);
        until_active(&f, On::Worker(1), "high").await;
        let preempted = f.find(On::Manager, "Workload", &low).await.unwrap();
        let message = condition(&preempted, "Preempted").unwrap();
        assert!(message.starts_with("True/InClusterQueue"), "{message}");
        f.until_gone(On::Worker(1), "Job", "low").await;
        f.until_gone(On::Worker(1), "Workload", &low).await;
        f
    });
}

#[test]
fn the_quota_of_a_preempted_job_is_used_in_another_worker() {
    with_workers(2, |f| async move {
        classes_in(&f, &[On::Manager]).await;
        f.set_quota(On::Worker(2), 0).await;
        let (low, worker) = dispatched(&f, "low").await;
        assert_eq!(worker, 1);
        f.set_quota(On::Worker(1), 2).await;
        f.set_quota(On::Worker(2), 4).await;
        let (_, worker) = dispatched(&f, "high").await;
        assert_eq!(worker, 2);
        f.until_gone(On::Worker(1), "Job", "low").await;
        f.until(On::Manager, "Workload", &low, |wl| {
            wl["status"]["clusterName"].is_null()
        })
        .await;
        f
    });
}

#[test]
fn a_job_with_a_higher_priority_preempts_in_the_worker() {
    with_workers(1, |f| async move {
        classes_in(&f, &[On::Manager, On::Worker(1)]).await;
        f.set_quota(On::Manager, 8).await;
        let (low, _) = dispatched(&f, "low").await;
        dispatched(&f, "high").await;
        // The manager has quota for both: the worker evicts, and the manager dispatches again.
        f.until(On::Manager, "Workload", &low, |wl| {
            wl["status"]["nominatedClusterNames"] == json!(["worker1"])
        })
        .await;
        let events = f.events(On::Manager, &low, "MultiKueue").await;
        let evicted = "Workload evicted on worker cluster: \"worker1\", resetting for re-admission. Previously: \"Ready\"";
        assert!(events.iter().any(|event| event == evicted), "{events:?}");
        until_active(&f, On::Worker(1), "high").await;
        f
    });
}

#[test]
fn a_changed_priority_class_reaches_the_worker() {
    with_workers(1, |f| async move {
        classes_in(&f, &[On::Manager, On::Worker(1)]).await;
        f.apply(On::Manager, &job_of_class("a", 1, "low")).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until_dispatched(&name).await;
        let label = json!({"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}});
        f.patch(On::Manager, "Job", "a", label).await;
        for on in [On::Manager, On::Worker(1)] {
            let workload = f
                .until(on, "Workload", &name, |wl| wl["spec"]["priority"] == 100)
                .await;
            assert_eq!(workload["spec"]["priorityClassRef"]["name"], "high");
        }
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(workload["status"]["clusterName"], "worker1");
        f
    });
}

#[test]
fn preemption_gates_of_the_manager_are_not_those_of_the_worker() {
    let orchestrated = |config: &mut _| enable(config, Feature::MultiKueueOrchestratedPreemption);
    with_config(1, orchestrated, |f| async move {
        f.set_quota(On::Worker(1), 0).await;
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        let gates = json!({"spec": {"preemptionGates": [{"name": "example.com/gate"}]}});
        f.patch(On::Manager, "Workload", &name, gates).await;
        f.set_quota(On::Worker(1), 4).await;
        f.until_dispatched(&name).await;
        let remote = f.find(On::Worker(1), "Workload", &name).await.unwrap();
        let gates = remote["spec"]["preemptionGates"].to_string();
        assert!(!gates.contains("example.com/gate"), "{gates}");
        f
    });
}

#[test]
fn a_changed_priority_is_kept_when_a_pod_of_the_job_fails() {
    with_workers(1, |f| async move {
        classes_in(&f, &[On::Manager, On::Worker(1)]).await;
        let yaml = job_of_class("a", 1, "high").replace(
            "spec:\n  template",
            "spec:\n  completionMode: Indexed\n  completions: 1\n  backoffLimitPerIndex: 2\n  template",
        );
        let fails = yaml.replace("[sleep, '3600']", "[sh, -c, 'sleep 60; exit 1']");
        f.apply(On::Manager, &fails).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until_dispatched(&name).await;
        let label = json!({"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "low"}}});
        f.patch(On::Manager, "Job", "a", label).await;
        for on in [On::Manager, On::Worker(1)] {
            f.until(on, "Workload", &name, |wl| wl["spec"]["priority"] == 10)
                .await;
        }
        let updates = async |on| f.events(on, &name, "UpdatedWorkload").await.len();
        let before = [updates(On::Manager).await, updates(On::Worker(1)).await];
        let failed = f
            .until(On::Worker(1), "Job", "a", |job| {
                job["status"]["failed"] == 1 && job["status"]["active"] == 1
            })
            .await;
        assert_eq!(failed["status"]["succeeded"], json!(null));
        for on in [On::Manager, On::Worker(1)] {
            let workload = f.find(on, "Workload", &name).await.unwrap();
            assert_eq!(workload["spec"]["priority"], 10);
            let admitted = condition(&workload, "Admitted").unwrap();
            assert!(admitted.starts_with("True"), "{admitted}");
        }
        let after = [updates(On::Manager).await, updates(On::Worker(1)).await];
        assert_eq!(after, before);
        f
    });
}
