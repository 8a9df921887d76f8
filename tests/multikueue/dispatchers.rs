//! The incremental and external dispatchers, and orchestrated preemption.

use kueue_lab_api::config::{DISPATCHER_INCREMENTAL, Feature, IncrementalDispatcherConfig};
use serde_json::json;

use crate::fixture::{On, condition, configuration, enable, job, with_config};

#[test]
fn the_incremental_dispatcher_adds_clusters_every_five_minutes() {
    let incremental = |config: &mut _| {
        let multi_kueue = configuration(config).multi_kueue.as_mut().unwrap();
        multi_kueue.dispatcher_name = Some(DISPATCHER_INCREMENTAL.to_owned());
        multi_kueue.incremental_dispatcher_config =
            Some(IncrementalDispatcherConfig { step_size: Some(1) });
    };
    with_config(2, incremental, |f| async move {
        f.set_quota(On::Worker(1), 0).await;
        let created = f.clock().now();
        f.apply(On::Manager, &job("a", 1, 30)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["nominatedClusterNames"] == json!(["worker1"])
        })
        .await;
        f.until(On::Worker(1), "Workload", &name, |_| true).await;
        assert!(f.find(On::Worker(2), "Workload", &name).await.is_none());
        f.until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["clusterName"] == "worker2"
        })
        .await;
        let waited = f.clock().now().duration_since(created).as_secs();
        assert!((300..310).contains(&waited), "{waited}");
        f
    });
}

#[test]
fn an_external_dispatcher_nominates_clusters_in_the_status() {
    let external = |config: &mut _| {
        let multi_kueue = configuration(config).multi_kueue.as_mut().unwrap();
        multi_kueue.dispatcher_name = Some("example.com/dispatcher".to_owned());
    };
    with_config(2, external, |f| async move {
        f.apply(On::Manager, &job("a", 1, 30)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Manager, "Workload", &name, |wl| {
            condition(wl, "QuotaReserved").is_some_and(|c| c.starts_with("True"))
        })
        .await;
        f.sleep(600).await;
        for worker in [1, 2] {
            assert!(
                f.find(On::Worker(worker), "Workload", &name)
                    .await
                    .is_none()
            );
        }
        f.nominate(&name, &["worker2"]).await;
        f.until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["clusterName"] == "worker2"
        })
        .await;
        f
    });
}

#[test]
fn with_orchestrated_preemption_one_worker_preempts_at_a_time() {
    let orchestrated = |config: &mut _| enable(config, Feature::MultiKueueOrchestratedPreemption);
    with_config(2, orchestrated, |f| async move {
        // Both workers are full of Workloads of their own, which have a lower priority.
        for worker in [1, 2] {
            let low = job("low", 4, 3600);
            f.apply(On::Worker(worker), &low).await;
            f.until(On::Worker(worker), "Job", "low", |job| {
                job["status"]["active"] == 1
            })
            .await;
        }
        f.apply(
            On::Manager,
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: high}, value: 100}",
        )
        .await;
        let high = job("a", 2, 3600).replace(
            "queue-name: lq",
            "queue-name: lq, kueue.x-k8s.io/priority-class: high",
        );
        f.apply(On::Manager, &high).await;
        let name = f.workload(On::Manager, "job-a-").await;
        let workload = f
            .until(On::Manager, "Workload", &name, |wl| {
                wl["status"]["clusterName"].is_string()
            })
            .await;
        let (admitting, other) = match workload["status"]["clusterName"] == "worker1" {
            true => (1, 2),
            false => (2, 1),
        };
        let preempted = async |worker| {
            let low = f.workload(On::Worker(worker), "job-low-").await;
            let low = f.find(On::Worker(worker), "Workload", &low).await.unwrap();
            condition(&low, "Preempted").is_some_and(|c| c.starts_with("True"))
        };
        assert!(preempted(admitting).await);
        assert!(!preempted(other).await);
        f
    });
}

#[test]
fn with_quota_automation_the_manager_has_the_sum_of_the_quotas() {
    let automated = |config: &mut _| enable(config, Feature::MultiKueueManagerQuotaAutomation);
    with_config(2, automated, |f| async move {
        let quota = |queue: &serde_json::Value| {
            queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"].clone()
        };
        let automation =
            |queue: &serde_json::Value| condition(queue, "MultiKueueManagerQuotaAutomation");
        f.until(On::Manager, "ClusterQueue", "cq", |queue| {
            automation(queue).as_deref()
                == Some("False/NotRequested: MultiKueue manager quota automation has not been requested.")
        })
        .await;
        let mode = json!({"spec": {"quotaManagement": "Automated"}});
        f.patch(On::Manager, "MultiKueueConfig", "multikueue", mode)
            .await;
        f.until(On::Manager, "ClusterQueue", "cq", |queue| {
            quota(queue) == "8"
        })
        .await;
        f.set_quota(On::Worker(1), 10).await;
        f.until(On::Manager, "ClusterQueue", "cq", |queue| {
            quota(queue) == "14"
                && automation(queue).as_deref()
                    == Some("True/QuotaAutomated: ClusterQueue quota is automatically managed based on MultiKueue workers.")
        })
        .await;
        f
    });
}
