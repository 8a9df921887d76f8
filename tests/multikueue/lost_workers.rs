//! Workers that are lost and found again.

use serde_json::Value;

use crate::fixture::{On, configuration, with_config, with_workers};
use crate::objects::{condition, job, run_in_first_worker};

#[test]
fn a_worker_that_comes_back_in_time_keeps_its_job() {
    with_workers(1, |f| async move {
        f.apply(On::Manager, &job("a", 1, 300)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Manager, "Job", "a", |job| job["status"]["active"] == 1)
            .await;
        f.set_network(1, false).await;
        let lost = f
            .until(On::Manager, "MultiKueueCluster", "worker1", |c| {
                condition(c, "Active")
                    .is_some_and(|c| c.starts_with("False/ClientConnectionFailed"))
            })
            .await;
        let message = condition(&lost, "Active").unwrap();
        assert!(
            message.contains(
                "no route to host; connection attempts: 1, next connection attempt: 2026-03-02T"
            ),
            "{message}"
        );
        f.sleep(120).await;
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert!(
            condition(&workload, "Admitted")
                .unwrap()
                .starts_with("True")
        );
        f.set_network(1, true).await;
        f.until(On::Manager, "Workload", &name, |wl| {
            condition(wl, "Finished")
                .is_some_and(|c| c == "True/Succeeded: Reached expected number of succeeded pods")
        })
        .await;
        f
    });
}

#[test]
fn a_job_of_a_lost_worker_is_dispatched_to_another_after_the_timeout() {
    let short = |config: &mut _| {
        let multi_kueue = configuration(config).multi_kueue.as_mut().unwrap();
        multi_kueue.worker_lost_timeout = Some(kueue_lab_api::config::Duration::from_secs(60));
    };
    with_config(2, short, |f| async move {
        let name = run_in_first_worker(&f).await;
        let lost = f.clock().now();
        f.set_network(1, false).await;
        f.until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["clusterName"] == "worker2"
        })
        .await;
        let waited = f.clock().now().duration_since(lost).as_secs();
        assert!((60..90).contains(&waited), "{waited}");
        // The lost worker still has the job.
        assert!(f.find(On::Worker(1), "Job", "a").await.is_some());
        f
    });
}

#[test]
fn orphans_in_a_worker_are_deleted() {
    with_workers(1, |f| async move {
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Worker(1), "Job", "a", |job| {
            job["status"]["active"] == 1
        })
        .await;
        f.set_network(1, false).await;
        f.until(On::Manager, "MultiKueueCluster", "worker1", |c| {
            condition(c, "Active").is_some_and(|c| c.starts_with("False"))
        })
        .await;
        f.delete(On::Manager, "Job", "a").await;
        f.until_gone(On::Manager, "Workload", &name).await;
        assert!(f.find(On::Worker(1), "Job", "a").await.is_some());
        f.set_network(1, true).await;
        f.until_gone(On::Worker(1), "Job", "a").await;
        f.until_gone(On::Worker(1), "Workload", &name).await;
        f
    });
}

#[test]
fn a_restarted_manager_waits_again_for_a_lost_worker() {
    with_workers(1, |f| async move {
        f.apply(On::Manager, &job("a", 1, 36000)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Manager, "Job", "a", |job| job["status"]["active"] == 1)
            .await;
        // The check is ready for longer than the timeout of 15 minutes, and the worker lost for most of it.
        f.sleep(1200).await;
        f.set_network(1, false).await;
        f.until(On::Manager, "MultiKueueCluster", "worker1", |c| {
            condition(c, "Active").is_some_and(|c| c.starts_with("False"))
        })
        .await;
        f.sleep(800).await;
        let restarted = f.clock().now();
        f.restart_controller(On::Manager).await;
        f.sleep(800).await;
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(workload["status"]["clusterName"], "worker1");
        assert_eq!(condition(&workload, "Evicted"), None);
        let evicted = f
            .until(On::Manager, "Workload", &name, |wl| {
                condition(wl, "Evicted").is_some_and(|c| c.contains("Admitting remote lost"))
                    && wl["status"]["admissionChecks"][0]["state"] == "Pending"
            })
            .await;
        let waited = f.clock().now().duration_since(restarted).as_secs();
        assert!((900..930).contains(&waited), "{waited}");
        assert_eq!(evicted["status"]["admissionChecks"][0]["retryCount"], 1);
        assert_eq!(evicted["status"]["clusterName"], Value::Null);
        f.set_network(1, true).await;
        assert_eq!(f.until_dispatched(&name).await, 1);
        f
    });
}
