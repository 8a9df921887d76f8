//! Jobs from creation to completion.

use serde_json::json;

use super::SharedContext;
use crate::objects::{
    CLUSTER_QUEUE, GPU, JOB, NODE, POD, WORKLOAD, as_integer, condition, is_condition_true,
    message, name, pod_spec,
};

pub(super) async fn a_job_waits_runs_and_gives_its_quota_back(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    let queue = ns.create_queues("lq", 8, json!({})).await;
    let first = ns.job("first", "lq", 8, 100_000).await;
    assert_eq!(
        first["spec"]["suspend"], true,
        "it is suspended on creation"
    );
    let running = ns.wait_until_running("first").await;
    let template = &running["spec"]["template"]["spec"];
    assert_eq!(template["nodeSelector"]["kueue-lab.dev/pool"], "suite");
    let admitted = ns.wait_for_workload(&first, "it is admitted", |wl| {
        is_condition_true(wl, "Admitted")
    });
    let admission = admitted.await["status"]["admission"].clone();
    assert_eq!(admission["clusterQueue"], queue);
    let set = &admission["podSetAssignments"][0];
    assert_eq!(set["name"], "main");
    assert_eq!(set["flavors"][GPU], "suite");
    assert_eq!(as_integer(&set["resourceUsage"][GPU]), 8);
    let pods = ns.list(POD).await;
    let [pod] = pods.as_slice() else {
        panic!("{} pods", pods.len());
    };
    let node = pod["spec"]["nodeName"].as_str().unwrap();
    let node = ns.get(NODE, node).await;
    assert_eq!(node["metadata"]["labels"]["kueue-lab.dev/pool"], "suite");

    let second = ns.job("second", "lq", 6, 1).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    let waiting = ns.wait_for_workload(&second, "it waits", waits).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient unused quota for nvidia.com/gpu in flavor suite, 6 more needed"),
        "{why}"
    );
    assert!(second["spec"]["suspend"] == true);
    ns.assert_consistent().await;
    ns.delete(JOB, "first").await;
    let complete = |o: &_| is_condition_true(o, "Complete");
    ns.wait_until(JOB, "second", "it is complete", complete)
        .await;
    let finished = |wl: &_| condition(wl, "Finished") == "True/Succeeded";
    ns.wait_for_workload(&second, "it is finished", finished)
        .await;
    let unused = |o: &serde_json::Value| {
        let status = &o["status"];
        as_integer(&status["flavorsUsage"][0]["resources"][0]["total"]) == 0
            && as_integer(&status["admittedWorkloads"]) == 0
    };
    ns.wait_until(CLUSTER_QUEUE, &queue, "the quota is unused", unused)
        .await;
    ns.assert_consistent().await;
}

pub(super) async fn a_job_without_a_queue_is_unmanaged(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    let spec = json!({"template": {"spec": pod_spec(1, 1)}});
    let job = json!({"metadata": {"name": "free"}, "spec": spec});
    let job = ns.create(JOB, job).await;
    assert_ne!(job["spec"]["suspend"], true);
    let complete = |o: &_| is_condition_true(o, "Complete");
    ns.wait_until(JOB, "free", "it is complete", complete).await;
    assert_eq!(ns.list(WORKLOAD).await, Vec::<serde_json::Value>::new());
}

pub(super) async fn a_job_that_never_fits_reports_the_reason(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    ns.create_queues("lq", 4, json!({})).await;
    let huge = ns.job("huge", "lq", 8, 1).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/ExceedsMaxQuota";
    let waiting = ns.wait_for_workload(&huge, "it waits", waits).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient quota for nvidia.com/gpu in flavor suite"),
        "{why}"
    );
    let lost = ns.job("lost", "nowhere", 1, 1).await;
    let nowhere = |wl: &_| condition(wl, "QuotaReserved") == "False/Misconfigured";
    let waiting = ns
        .wait_for_workload(&lost, "it is inadmissible", nowhere)
        .await;
    assert_eq!(
        message(&waiting, "QuotaReserved"),
        "LocalQueue nowhere doesn't exist"
    );
    ns.assert_consistent().await;
}

pub(super) async fn a_deactivated_workload_is_evicted_and_can_be_reactivated(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    ns.create_queues("lq", 4, json!({})).await;
    let job = ns.job("moody", "lq", 4, 100_000).await;
    ns.wait_until_running("moody").await;
    let workload = ns.wait_for_workload(&job, "it is admitted", |wl| {
        is_condition_true(wl, "Admitted")
    });
    let workload = name(&workload.await).to_owned();
    let active = |active: bool| json!({"spec": {"active": active}});
    ns.merge(WORKLOAD, &workload, active(false)).await;
    let evicted = |wl: &_| {
        condition(wl, "Evicted") == "True/Deactivated" && !is_condition_true(wl, "QuotaReserved")
    };
    ns.wait_until(WORKLOAD, &workload, "it is evicted", evicted)
        .await;
    ns.wait_until_suspended("moody").await;
    ns.assert_consistent().await;
    ns.merge(WORKLOAD, &workload, active(true)).await;
    ns.wait_until_running("moody").await;
    ns.assert_consistent().await;
}
