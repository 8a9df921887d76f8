//! Who has to leave for whom within one ClusterQueue.

use serde_json::json;

use super::SharedContext;
use crate::objects::{JOB, condition, is_condition_true, message};

pub async fn a_higher_priority_job_preempts_a_lower_one(
    SharedContext { stage, .. }: SharedContext<'_>,
) {
    let preemption = json!({"preemption": {"withinClusterQueue": "LowerPriority"}});
    stage.create_queues("lq", 4, preemption).await;
    let low_class = stage.priority("low", 100).await;
    let high_class = stage.priority("high", 1000).await;
    let low = stage
        .job_with("low", "lq", 4, 100_000, low_class.clone())
        .await;
    stage.wait_until_running("low").await;
    // Somebody as important has to wait.
    let equal = stage.job_with("equal", "lq", 4, 100_000, low_class).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    stage.wait_for_workload(&equal, "it waits", waits).await;
    stage.wait_until_running("low").await;
    let high = stage.job_with("high", "lq", 4, 100_000, high_class).await;
    stage.wait_until_running("high").await;
    stage.wait_until_suspended("low").await;
    let preempted = |wl: &_| {
        condition(wl, "Evicted") == "True/Preempted"
            && condition(wl, "Preempted") == "True/InClusterQueue"
    };
    let victim = stage
        .wait_for_workload(&low, "it was preempted", preempted)
        .await;
    let why = message(&victim, "Preempted");
    let by = stage.wait_for_workload(&high, "it is admitted", |wl| {
        is_condition_true(wl, "Admitted")
    });
    let by = by.await["metadata"]["uid"].as_str().unwrap().to_owned();
    assert!(why.contains(&by), "{why}");
    stage.assert_consistent().await;
    stage.delete(JOB, "equal").await;
    stage.delete(JOB, "high").await;
    stage.wait_until_running("low").await;
    stage.assert_consistent().await;
}
