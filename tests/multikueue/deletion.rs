//! Deletions in the workers, also without garbage collection.

use std::future::Future;

use kueue_lab_api::config::Duration;
use serde_json::json;

use crate::fixture::{Fixture, On, configuration, with_config, with_workers};
use crate::objects::{condition, job};

fn without_garbage_collection<F: Future<Output = Fixture>>(test: impl FnOnce(Fixture) -> F) {
    let no_gc = |config: &mut _| {
        let multi_kueue = configuration(config).multi_kueue.as_mut().unwrap();
        multi_kueue.gc_interval = Some(Duration::from_secs(0));
    };
    with_config(2, no_gc, test);
}

#[test]
fn a_job_deleted_in_the_manager_is_deleted_in_its_worker() {
    without_garbage_collection(|f| async move {
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        let worker = f.until_dispatched(&name).await;
        f.until(On::Worker(worker), "Job", "a", |job| {
            job["status"]["active"] == 1
        })
        .await;
        f.delete(On::Manager, "Job", "a").await;
        f.until_gone(On::Worker(worker), "Job", "a").await;
        f.until_gone(On::Worker(worker), "Workload", &name).await;
        f
    });
}

#[test]
fn a_rejected_check_removes_the_copies() {
    without_garbage_collection(|f| async move {
        for worker in [1, 2] {
            f.set_quota(On::Worker(worker), 0).await;
        }
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        for worker in [1, 2] {
            f.until(On::Worker(worker), "Workload", &name, |_| true)
                .await;
        }
        f.set_check(On::Manager, &name, "multikueue", "Rejected")
            .await;
        for worker in [1, 2] {
            f.until_gone(On::Worker(worker), "Workload", &name).await;
        }
        f
    });
}

#[test]
fn a_job_that_ends_while_the_worker_is_lost_is_cleaned_up_later() {
    with_workers(1, |f| async move {
        f.apply(On::Manager, &job("a", 1, 60)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until_dispatched(&name).await;
        f.until(On::Worker(1), "Job", "a", |job| {
            job["status"]["active"] == 1
        })
        .await;
        f.set_network(1, false).await;
        f.until(On::Worker(1), "Job", "a", |job| {
            job["status"]["succeeded"] == 1
        })
        .await;
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(condition(&workload, "Finished"), None);
        f.set_network(1, true).await;
        f.until(On::Manager, "Workload", &name, |wl| {
            condition(wl, "Finished").is_some_and(|c| c.starts_with("True/Succeeded"))
        })
        .await;
        f.until_gone(On::Worker(1), "Job", "a").await;
        f.until_gone(On::Worker(1), "Workload", &name).await;
        f
    });
}

#[test]
fn a_job_changed_in_the_worker_is_dispatched_again() {
    with_workers(1, |f| async move {
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until_dispatched(&name).await;
        f.until(On::Worker(1), "Job", "a", |_| true).await;
        let out_of_sync = json!({"conditions": [{
            "type": "Finished", "status": "True", "reason": "OutOfSync",
            "message": "The prebuilt workload is out of sync with its user job",
            "lastTransitionTime": "2026-03-02T12:00:00Z",
        }]});
        f.patch_status(On::Worker(1), "Workload", &name, out_of_sync)
            .await;
        let reset = "Remote workload on worker cluster \"worker1\" is out of sync with its user job, resetting for re-dispatch, Previously: \"Ready\"";
        loop {
            let events = f.events(On::Manager, &name, "MultiKueue").await;
            if events.iter().any(|event| event == reset) {
                break;
            }
            f.sleep(1).await;
        }
        f.until(On::Worker(1), "Workload", &name, |wl| {
            condition(wl, "Admitted").is_some_and(|c| c.starts_with("True"))
                && condition(wl, "Finished").is_none()
        })
        .await;
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(condition(&workload, "Finished"), None);
        f
    });
}

#[test]
fn a_worker_added_to_the_config_gets_waiting_workloads() {
    with_workers(2, |f| async move {
        f.set_quota(On::Worker(1), 0).await;
        let only = json!({"spec": {"clusters": ["worker1"]}});
        f.patch(On::Manager, "MultiKueueConfig", "multikueue", only)
            .await;
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["nominatedClusterNames"] == json!(["worker1"])
        })
        .await;
        assert!(f.find(On::Worker(2), "Workload", &name).await.is_none());
        let both = json!({"spec": {"clusters": ["worker1", "worker2"]}});
        f.patch(On::Manager, "MultiKueueConfig", "multikueue", both)
            .await;
        assert_eq!(f.until_dispatched(&name).await, 2);
        f
    });
}
