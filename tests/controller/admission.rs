//! Quota, admission, pending workloads, preemption.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::cluster_fixture::*;

#[test]
fn a_workload_is_admitted_and_counted_in_queue_status() {
    with_cluster(|w| async move {
        w.apply(QUEUES).await;
        w.sleep(2).await;
        w.apply(&workload("a", 4, 0)).await;
        w.until("a", "Admitted", "True/Admitted").await;
        assert_eq!(
            w.condition("a", "QuotaReserved").await.unwrap(),
            "True/QuotaReserved: Quota reserved in ClusterQueue cq"
        );
        let wl = w.get("Workload", "a").await;
        let assignments = &wl["status"]["admission"]["podSetAssignments"];
        assert_eq!(assignments[0]["flavors"], json!({"cpu": "default-flavor"}));
        w.sleep(3).await;
        let cq = w.get("ClusterQueue", "cq").await;
        assert_eq!(
            cq["metadata"]["finalizers"],
            json!(["kueue.x-k8s.io/resource-in-use"])
        );
        assert_eq!(cq["status"]["admittedWorkloads"], 1);
        assert_eq!(
            cq["status"]["conditions"][0]["message"],
            "Can admit new workloads"
        );
        assert_eq!(
            cq["status"]["flavorsUsage"][0]["resources"][0]["total"],
            "4"
        );
        let lq = w.get("LocalQueue", "lq").await;
        assert_eq!(lq["status"]["reservingWorkloads"], 1);
        assert_eq!(
            lq["status"]["conditions"][0]["message"],
            "Can submit new workloads to localQueue"
        );
        assert_eq!(
            w.events("a").await,
            [
                "kueue-admission Normal QuotaReserved: Quota reserved in ClusterQueue cq, wait time since queued was 0s",
                "kueue-admission Normal Admitted: Admitted by ClusterQueue cq, wait time since reservation was 0s",
            ]
        );
    });
}

#[test]
fn a_higher_priority_workload_preempts() {
    with_cluster(|w| async move {
        w.apply(QUEUES).await;
        w.apply(&workload("low", 6, 1)).await;
        w.until("low", "Admitted", "True/Admitted").await;
        w.apply(&workload("high", 6, 10)).await;
        w.until("low", "Preempted", "True/InClusterQueue").await;
        w.until(
            "high",
            "QuotaReserved",
            "False/WaitingForPreemptedWorkloads",
        )
        .await;
        assert_eq!(
            w.condition("high", "QuotaReserved").await.unwrap(),
            "False/WaitingForPreemptedWorkloads: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default-flavor, 3 more needed. Pending the preemption of 1 workload(s)"
        );
        let stats = w.get("Workload", "low").await["status"]["schedulingStats"].clone();
        assert_eq!(
            stats["evictions"],
            json!([{"reason": "Preempted", "underlyingCause": "", "count": 1}])
        );
        // No job controller runs here: the test releases the quota of the preemption target.
        let uid = w.get("Workload", "low").await["metadata"]["uid"].clone();
        w.workloads()
            .delete("low", &Default::default())
            .await
            .unwrap();
        w.until("high", "Admitted", "True/Admitted").await;
        let events = w.events("high").await;
        // Two scheduling attempts before the preemption target is gone.
        assert_eq!(events.len(), 5, "{events:#?}");
        assert_eq!(
            events[0],
            format!(
                "kueue-admission Normal PreemptedWorkload: Preempted workload ns/low (UID: {}) in ClusterQueue cq; preemptor effective priority: 10 (base: 10, boost: 0); preemptee effective priority: 1 (base: 1, boost: 0)",
                uid.as_str().unwrap()
            )
        );
        assert!(events[1].contains("Warning WaitingForPreemptedWorkloads: couldn't assign"));
    });
}

#[test]
fn pending_reasons_are_reported() {
    with_cluster(|w| async move {
        w.apply(&workload("early", 4, 0)).await;
        w.until("early", "QuotaReserved", "False/Misconfigured")
            .await;
        assert_eq!(
            w.condition("early", "QuotaReserved").await.unwrap(),
            "False/Misconfigured: LocalQueue lq doesn't exist"
        );
        w.apply(QUEUES).await;
        w.until("early", "Admitted", "True/Admitted").await;
        w.apply(&workload("big", 20, 0)).await;
        w.until("big", "QuotaReserved", "False/ExceedsMaxQuota")
            .await;
        w.apply(&workload("waits", 6, 0)).await;
        w.until("waits", "QuotaReserved", "False/WaitingForQuota")
            .await;
        assert_eq!(
            w.condition("waits", "Admitted").await.unwrap(),
            "False/NoReservation: The workload has no reservation"
        );
    });
}

#[test]
fn stopping_a_queue_evicts_and_resuming_it_readmits() {
    with_cluster(|w| async move {
        w.apply(QUEUES).await;
        w.apply(&workload("a", 4, 0)).await;
        w.until("a", "Admitted", "True/Admitted").await;
        w.patch(
            "ClusterQueue",
            "cq",
            json!({"spec": {"stopPolicy": "HoldAndDrain"}}),
        )
        .await;
        w.until("a", "Evicted", "True/ClusterQueueStopped").await;
        assert_eq!(
            w.condition("a", "Evicted").await.unwrap(),
            "True/ClusterQueueStopped: The ClusterQueue is stopped"
        );
        w.sleep(2).await;
        let cq = w.get("ClusterQueue", "cq").await;
        assert_eq!(
            cq["status"]["conditions"][0]["message"],
            "Can't admit new workloads: is stopped."
        );
    });
}

#[test]
fn a_created_flavor_admits_pending_workloads() {
    with_cluster(|w| async move {
        let (flavor, queues) = QUEUES.split_once("\n---\n").unwrap();
        w.apply(queues).await;
        w.apply(&workload("a", 4, 0)).await;
        w.sleep(3).await;
        assert_eq!(
            w.condition("a", "QuotaReserved").await.unwrap(),
            "False/Suspended: ClusterQueue cq is inactive"
        );
        let before = w.clock.now();
        w.apply(flavor).await;
        w.until("a", "Admitted", "True/Admitted").await;
        // Status counts are updated a second later.
        assert!(w.clock.now().duration_since(before).as_millis() < 1000);
    });
}

#[test]
fn a_workload_is_deactivated_after_its_maximum_execution_time() {
    with_cluster(|w| async move {
        w.apply(QUEUES).await;
        let yaml = workload("a", 4, 0).replace(
            "spec:\n  queueName",
            "spec:\n  maximumExecutionTimeSeconds: 60\n  queueName",
        );
        w.apply(&yaml).await;
        w.until("a", "Admitted", "True/Admitted").await;
        w.sleep(58).await;
        assert_eq!(w.condition("a", "Evicted").await, None);
        w.until(
            "a",
            "Evicted",
            "True/DeactivatedDueToMaximumExecutionTimeExceeded",
        )
        .await;
        let wl = w.get("Workload", "a").await;
        assert_eq!(wl["spec"]["active"], false);
        assert_eq!(
            w.condition("a", "Evicted").await.unwrap(),
            "True/DeactivatedDueToMaximumExecutionTimeExceeded: The workload is deactivated due to exceeding the maximum execution time"
        );
    });
}

#[test]
fn a_workload_without_a_job_has_its_quota_until_a_client_finishes_it() {
    with_cluster(|w| async move {
        w.apply(QUEUES).await;
        w.sleep(2).await;
        w.apply(&workload("a", 6, 0)).await;
        w.until("a", "Admitted", "True/Admitted").await;
        w.apply(&workload("b", 6, 0)).await;
        w.sleep(600).await;
        assert_eq!(w.condition("a", "Finished").await, None);
        assert!(w.get("Workload", "b").await["status"]["admission"].is_null());
        let wl = w.workloads().get("a").await.unwrap();
        let mut conditions = json!(wl.status.conditions);
        conditions.as_array_mut().unwrap().push(json!({
            "type": "Finished", "status": "True", "reason": "Succeeded", "message": "by hand",
            "lastTransitionTime": "2026-03-02T13:00:00Z",
        }));
        let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
        w.workloads()
            .patch_status("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
        w.until("b", "Admitted", "True/Admitted").await;
    });
}

#[test]
fn a_check_of_multikueue_without_parameters_is_inactive() {
    with_cluster(|w| async move {
        w.apply(
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: mk}, spec: {controllerName: kueue.x-k8s.io/multikueue}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: own}, spec: {controllerName: example.com/own}}",
        )
        .await;
        w.sleep(1).await;
        let condition = &w.get("AdmissionCheck", "mk").await["status"]["conditions"][0];
        assert_eq!(
            (
                &condition["type"],
                &condition["status"],
                &condition["reason"]
            ),
            (&json!("Active"), &json!("False"), &json!("BadConfig"))
        );
        assert_eq!(
            condition["message"],
            "Cannot load the AdmissionChecks parameters: missing parameters reference"
        );
        let other = w.get("AdmissionCheck", "own").await;
        assert!(other["status"]["conditions"].is_null(), "{other}");
    });
}
