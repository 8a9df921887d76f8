//! Priorities in the manager, and preemption there.

use kueue_lab_api::config::Feature;
use serde_json::json;

use crate::fixture::{Fixture, On, condition, enable, job, with_config, with_workers};

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

#[test]
fn a_job_with_a_higher_priority_preempts_in_the_manager() {
    with_workers(2, |f| async move {
        classes_in(&f, &[On::Manager]).await;
        f.set_quota(On::Worker(2), 0).await;
        f.apply(On::Manager, &job_of_class("low", 3, "low")).await;
        let low = f.workload(On::Manager, "job-low-").await;
        assert_eq!(f.until_dispatched(&low).await, 1);
        f.until(On::Worker(1), "Job", "low", |job| {
            job["status"]["active"] == 1
        })
        .await;
        f.apply(On::Manager, &job_of_class("high", 3, "high")).await;
        let high = f.workload(On::Manager, "job-high-").await;
        assert_eq!(f.until_dispatched(&high).await, 1);
        f.until(On::Worker(1), "Job", "high", |job| {
            job["status"]["active"] == 1
        })
        .await;
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
        f.apply(On::Manager, &job_of_class("low", 3, "low")).await;
        let low = f.workload(On::Manager, "job-low-").await;
        assert_eq!(f.until_dispatched(&low).await, 1);
        f.set_quota(On::Worker(1), 2).await;
        f.set_quota(On::Worker(2), 4).await;
        f.apply(On::Manager, &job_of_class("high", 3, "high")).await;
        let high = f.workload(On::Manager, "job-high-").await;
        assert_eq!(f.until_dispatched(&high).await, 2);
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
        f.apply(On::Manager, &job_of_class("low", 3, "low")).await;
        let low = f.workload(On::Manager, "job-low-").await;
        f.until_dispatched(&low).await;
        f.apply(On::Manager, &job_of_class("high", 3, "high")).await;
        let high = f.workload(On::Manager, "job-high-").await;
        f.until_dispatched(&high).await;
        // The manager has quota for both: the worker evicts, and the manager dispatches again.
        f.until(On::Manager, "Workload", &low, |wl| {
            wl["status"]["nominatedClusterNames"] == json!(["worker1"])
        })
        .await;
        let events = f.events(On::Manager, &low, "MultiKueue").await;
        let evicted = "Workload evicted on worker cluster: \"worker1\", resetting for re-admission. Previously: \"Ready\"";
        assert!(events.iter().any(|event| event == evicted), "{events:?}");
        f.until(On::Worker(1), "Job", "high", |job| {
            job["status"]["active"] == 1
        })
        .await;
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
