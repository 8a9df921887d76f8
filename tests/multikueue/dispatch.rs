//! The path of a Job: nominated, admitted by one worker, run there, finished in the manager.

use serde_json::json;

use crate::fixture::{On, with_workers};
use crate::objects::{check, condition, job, run_in_first_worker};

#[test]
fn a_job_runs_in_the_worker_that_admits_it_first() {
    with_workers(2, |f| async move {
        // Only worker2 has quota.
        f.set_quota(On::Worker(1), 0).await;
        f.apply(On::Manager, &job("a", 1, 30)).await;
        let created = f.find(On::Manager, "Job", "a").await.unwrap();
        assert_eq!(created["spec"]["managedBy"], "kueue.x-k8s.io/multikueue");
        let name = f.workload(On::Manager, "job-a-").await;
        let workload = f
            .until(On::Manager, "Workload", &name, |wl| {
                wl["status"]["clusterName"] == "worker2"
            })
            .await;
        assert_eq!(
            check(&workload).unwrap(),
            "Ready: The workload was admitted on \"worker2\""
        );
        assert_eq!(workload["status"]["nominatedClusterNames"], json!(null));
        f.until_gone(On::Worker(1), "Workload", &name).await;
        let remote = f.until(On::Worker(2), "Job", "a", |_| true).await;
        assert_eq!(remote["spec"]["managedBy"], json!(null));
        let labels = &remote["metadata"]["labels"];
        assert_eq!(labels["kueue.x-k8s.io/multikueue-origin"], "multikueue");
        let annotations = &remote["metadata"]["annotations"];
        let prebuilt = "kueue.x-k8s.io/prebuilt-workload-name";
        assert!(labels[prebuilt] == name.as_str() || annotations[prebuilt] == name.as_str());
        // The pods are in the worker; the manager has their number.
        f.until(On::Manager, "Job", "a", |job| job["status"]["active"] == 1)
            .await;
        assert!(
            f.list(On::Manager, "Pod")
                .await
                .iter()
                .all(|pod| { pod["metadata"]["labels"]["job-name"] != "a" })
        );
        let finished = f
            .until(On::Manager, "Workload", &name, |wl| {
                condition(wl, "Finished").is_some()
            })
            .await;
        assert_eq!(
            condition(&finished, "Finished").unwrap(),
            "True/Succeeded: Reached expected number of succeeded pods"
        );
        let done = f.find(On::Manager, "Job", "a").await.unwrap();
        assert_eq!(done["status"]["succeeded"], 1);
        // The objects in the worker are deleted.
        f.until_gone(On::Worker(2), "Job", "a").await;
        f.until_gone(On::Worker(2), "Workload", &name).await;
        let events = f.events(On::Manager, &name, "MultiKueue").await;
        assert_eq!(events[0], "The workload was admitted on \"worker2\"");
        f
    });
}

#[test]
fn a_job_without_quota_in_any_worker_stays_nominated() {
    with_workers(2, |f| async move {
        f.set_quota(On::Worker(1), 0).await;
        f.set_quota(On::Worker(2), 0).await;
        f.apply(On::Manager, &job("a", 1, 30)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        let both = json!(["worker1", "worker2"]);
        f.until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["nominatedClusterNames"] == both
        })
        .await;
        for worker in [1, 2] {
            f.until(On::Worker(worker), "Workload", &name, |_| true)
                .await;
            assert!(f.find(On::Worker(worker), "Job", "a").await.is_none());
        }
        // The Workload is deleted with its job, and its copies with it.
        f.delete(On::Manager, "Job", "a").await;
        for worker in [1, 2] {
            f.until_gone(On::Worker(worker), "Workload", &name).await;
        }
        f
    });
}

#[test]
fn a_job_of_another_controller_is_rejected() {
    with_workers(1, |f| async move {
        let with_manager = job("a", 1, 30).replace(
            "spec:\n  template",
            "spec:\n  managedBy: example.com/other\n  template",
        );
        f.apply(On::Manager, &with_manager).await;
        let name = f.workload(On::Manager, "job-a-").await;
        let rejected = f
            .until(On::Manager, "Workload", &name, |wl| {
                condition(wl, "Evicted").is_some_and(|c| c.starts_with("True"))
            })
            .await;
        let messages = condition(&rejected, "Evicted").unwrap();
        assert!(
            messages.contains("Expecting spec.managedBy to be \"kueue.x-k8s.io/multikueue\" not \"example.com/other\""),
            "{messages}"
        );
        f
    });
}

#[test]
fn an_eviction_in_the_worker_dispatches_the_job_again() {
    with_workers(2, |f| async move {
        let name = run_in_first_worker(&f).await;
        let stop = json!({"spec": {"stopPolicy": "HoldAndDrain"}});
        f.patch(On::Worker(1), "ClusterQueue", "cq", stop).await;
        f.until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["clusterName"] == "worker2"
        })
        .await;
        let events = f.events(On::Manager, &name, "MultiKueue").await;
        let evicted = "Workload evicted on worker cluster: \"worker1\", resetting for re-admission. Previously: \"Ready\"";
        assert!(events.iter().any(|e| e == evicted), "{events:?}");
        f.until(On::Worker(2), "Job", "a", |job| {
            job["status"]["active"] == 1
        })
        .await;
        f.until_gone(On::Worker(1), "Job", "a").await;
        f
    });
}

#[test]
fn a_preemption_in_the_manager_stops_the_job_in_the_worker() {
    with_workers(1, |f| async move {
        f.apply(
            On::Manager,
            "apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: other}
spec: {namespaceSelector: {}, resourceGroups: []}",
        )
        .await;
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Worker(1), "Job", "a", |job| {
            job["status"]["active"] == 1
        })
        .await;
        f.patch(
            On::Manager,
            "Workload",
            &name,
            json!({"spec": {"active": false}}),
        )
        .await;
        f.until(On::Manager, "Workload", &name, |wl| {
            condition(wl, "QuotaReserved").is_some_and(|c| c.starts_with("False"))
        })
        .await;
        f.until_gone(On::Worker(1), "Job", "a").await;
        f.until_gone(On::Worker(1), "Workload", &name).await;
        f
    });
}
