//! Jobs from their submission to their end.

use serde_json::json;

use super::Scene;
use crate::objects::{
    CLUSTER_QUEUE, GPU, JOB, NODE, POD, WORKLOAD, amount, condition, is, message, name, pod_spec,
};

pub async fn a_job_waits_runs_and_gives_its_quota_back(Scene { stage, .. }: Scene<'_>) {
    let queue = stage.queue("lq", 8, json!({})).await;
    let first = stage.job("first", "lq", 8, 100_000).await;
    assert_eq!(first["spec"]["suspend"], true, "it is held from the start");
    let running = stage.runs("first").await;
    let template = &running["spec"]["template"]["spec"];
    assert_eq!(template["nodeSelector"]["kueue-lab.dev/pool"], "suite");
    let admitted = stage.workload(&first, "it is admitted", |wl| is(wl, "Admitted"));
    let admission = admitted.await["status"]["admission"].clone();
    assert_eq!(admission["clusterQueue"], queue);
    let set = &admission["podSetAssignments"][0];
    assert_eq!(set["name"], "main");
    assert_eq!(set["flavors"][GPU], "suite");
    assert_eq!(amount(&set["resourceUsage"][GPU]), 8);
    let pods = stage.list(POD).await;
    let [pod] = pods.as_slice() else {
        panic!("{} pods", pods.len());
    };
    let node = pod["spec"]["nodeName"].as_str().unwrap();
    let node = stage.get(NODE, node).await;
    assert_eq!(node["metadata"]["labels"]["kueue-lab.dev/pool"], "suite");

    let second = stage.job("second", "lq", 6, 1).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    let waiting = stage.workload(&second, "it waits", waits).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient unused quota for nvidia.com/gpu in flavor suite, 6 more needed"),
        "{why}"
    );
    assert!(second["spec"]["suspend"] == true);
    stage.sound().await;
    stage.delete(JOB, "first").await;
    let complete = |o: &_| is(o, "Complete");
    stage
        .reaches(JOB, "second", "it is complete", complete)
        .await;
    let finished = |wl: &_| condition(wl, "Finished") == "True/Succeeded";
    stage.workload(&second, "it is finished", finished).await;
    let unused = |o: &serde_json::Value| {
        let status = &o["status"];
        amount(&status["flavorsUsage"][0]["resources"][0]["total"]) == 0
            && amount(&status["admittedWorkloads"]) == 0
    };
    stage
        .reaches(CLUSTER_QUEUE, &queue, "the quota is free again", unused)
        .await;
    stage.sound().await;
}

pub async fn a_job_in_no_queue_is_left_alone(Scene { stage, .. }: Scene<'_>) {
    let spec = json!({"template": {"spec": pod_spec(1, 1)}});
    let job = json!({"metadata": {"name": "free"}, "spec": spec});
    let job = stage.create(JOB, job).await;
    assert_ne!(job["spec"]["suspend"], true);
    let complete = |o: &_| is(o, "Complete");
    stage.reaches(JOB, "free", "it is complete", complete).await;
    assert_eq!(stage.list(WORKLOAD).await, Vec::<serde_json::Value>::new());
}

pub async fn a_job_that_never_fits_is_told_why(Scene { stage, .. }: Scene<'_>) {
    stage.queue("lq", 4, json!({})).await;
    let huge = stage.job("huge", "lq", 8, 1).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/ExceedsMaxQuota";
    let waiting = stage.workload(&huge, "it waits", waits).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient quota for nvidia.com/gpu in flavor suite"),
        "{why}"
    );
    let lost = stage.job("lost", "nowhere", 1, 1).await;
    let nowhere = |wl: &_| condition(wl, "QuotaReserved") == "False/Misconfigured";
    let waiting = stage.workload(&lost, "it is inadmissible", nowhere).await;
    assert_eq!(
        message(&waiting, "QuotaReserved"),
        "LocalQueue nowhere doesn't exist"
    );
    stage.sound().await;
}

pub async fn who_is_deactivated_leaves_and_may_come_back(Scene { stage, .. }: Scene<'_>) {
    stage.queue("lq", 4, json!({})).await;
    let job = stage.job("moody", "lq", 4, 100_000).await;
    stage.runs("moody").await;
    let workload = stage.workload(&job, "it is admitted", |wl| is(wl, "Admitted"));
    let workload = name(&workload.await).to_owned();
    let active = |active: bool| json!({"spec": {"active": active}});
    stage.merge(WORKLOAD, &workload, active(false)).await;
    let evicted =
        |wl: &_| condition(wl, "Evicted") == "True/Deactivated" && !is(wl, "QuotaReserved");
    stage
        .reaches(WORKLOAD, &workload, "it is evicted", evicted)
        .await;
    stage.is_held("moody").await;
    stage.sound().await;
    stage.merge(WORKLOAD, &workload, active(true)).await;
    stage.runs("moody").await;
    stage.sound().await;
}
