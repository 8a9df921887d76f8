//! The incremental and external dispatchers, and orchestrated preemption.

use kueue_lab_api::config::{DISPATCHER_INCREMENTAL, Feature, IncrementalDispatcherConfig};
use kueue_lab_lab::KueueConfig;
use serde_json::json;

use crate::fixture::{On, configuration, enable, with_config, with_workers};
use crate::objects::{check, condition, job};

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

fn external(config: &mut KueueConfig) {
    let multi_kueue = configuration(config).multi_kueue.as_mut().unwrap();
    multi_kueue.dispatcher_name = Some("example.com/dispatcher".to_owned());
}

#[test]
fn an_external_dispatcher_nominates_clusters_in_the_status() {
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

#[test]
fn with_quota_automation_a_worker_without_the_local_queue_adds_no_quota() {
    let automated = |config: &mut _| enable(config, Feature::MultiKueueManagerQuotaAutomation);
    with_config(2, automated, |f| async move {
        let mode = json!({"spec": {"quotaManagement": "Automated"}});
        f.patch(On::Manager, "MultiKueueConfig", "multikueue", mode)
            .await;
        let until_quota = async |expected: &str| {
            f.until(On::Manager, "ClusterQueue", "cq", |queue| {
                let flavor = &queue["spec"]["resourceGroups"][0]["flavors"][0];
                flavor["resources"][0]["nominalQuota"] == expected
            })
            .await;
        };
        until_quota("8").await;
        f.delete(On::Worker(1), "LocalQueue", "lq").await;
        until_quota("4").await;
        f
    });
}

/// As upstream's test of an upgrade from a version without `clusterName`.
#[test]
fn a_workload_whose_cluster_name_is_cleared_stays_admitted() {
    with_workers(2, |f| async move {
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        let worker = f.until_dispatched(&name).await;
        f.apply_status(&name, "kueue-admission", |status| {
            status.as_object_mut().unwrap().remove("clusterName");
        })
        .await;
        f.sleep(60).await;
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(workload["status"]["nominatedClusterNames"], json!(null));
        assert_eq!(
            condition(&workload, "Admitted").as_deref(),
            Some("True/Admitted: The workload is admitted")
        );
        assert!(check(&workload).unwrap().starts_with("Ready"));
        assert!(f.find(On::Worker(worker), "Job", "a").await.is_some());
        f
    });
}

/// Upstream's optional policy: it clears nominations that another field manager owns.
const POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: clear-nominations}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [kueue.x-k8s.io], apiVersions: [v1beta2], operations: [UPDATE], resources: [workloads, workloads/status]}
  matchConditions:
  - name: nominated
    expression: has(object.status) && has(object.status.nominatedClusterNames) && size(object.status.nominatedClusterNames) > 0
  - name: decided
    expression: >-
      (has(object.status.clusterName) && (!has(oldObject.status) || !has(oldObject.status.clusterName)
      || oldObject.status.clusterName == ''))
      || (has(object.status.conditions) && object.status.conditions.exists(c, c.type == 'Evicted' && c.status == 'True')
      && (!has(oldObject.status) || !has(oldObject.status.conditions)
      || !oldObject.status.conditions.exists(c, c.type == 'Evicted' && c.status == 'True')))
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: \"replace\", path: \"/status/nominatedClusterNames\", value: []}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: clear-nominations}
spec: {policyName: clear-nominations}";

#[test]
fn an_admission_policy_clears_the_nominations_of_another_field_manager() {
    with_config(2, external, |f| async move {
        f.apply(On::Manager, POLICY).await;
        for worker in [1, 2] {
            f.set_quota(On::Worker(worker), 0).await;
        }
        let both = json!(["worker1", "worker2"]);
        let nominated = async |job_name: &str| {
            f.apply(On::Manager, &job(job_name, 1, 3600)).await;
            let name = f.workload(On::Manager, &format!("job-{job_name}-")).await;
            f.until(On::Manager, "Workload", &name, |wl| {
                condition(wl, "QuotaReserved").is_some_and(|c| c.starts_with("True"))
            })
            .await;
            f.apply_status(&name, "example.com/dispatcher", |status| {
                *status = json!({"nominatedClusterNames": both});
            })
            .await;
            f.until(On::Worker(2), "Workload", &name, |_| true).await;
            name
        };
        // Another change of the status leaves them.
        let name = nominated("a").await;
        let state = json!({"requeueState": {"count": 1}});
        f.patch_status(On::Manager, "Workload", &name, state).await;
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(workload["status"]["nominatedClusterNames"], both);
        // A worker admits.
        f.set_quota(On::Worker(2), 1).await;
        assert_eq!(f.until_dispatched(&name).await, 2);
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        let names = &workload["status"]["nominatedClusterNames"];
        assert!(names.as_array().is_none_or(Vec::is_empty), "{names}");
        // The Workload is evicted.
        let name = nominated("b").await;
        let inactive = json!({"spec": {"active": false}});
        f.patch(On::Manager, "Workload", &name, inactive).await;
        f.until(On::Manager, "Workload", &name, |wl| {
            let names = wl["status"]["nominatedClusterNames"].as_array();
            condition(wl, "Evicted").is_some_and(|c| c.starts_with("True"))
                && names.is_none_or(Vec::is_empty)
        })
        .await;
        f
    });
}
