//! Who has to leave for whom within one ClusterQueue.

use serde_json::json;

use super::Scene;
use crate::objects::{JOB, condition, is, message};

pub async fn the_important_one_takes_the_place_of_the_other(Scene { stage, .. }: Scene<'_>) {
    let preemption = json!({"preemption": {"withinClusterQueue": "LowerPriority"}});
    stage.queue("lq", 4, preemption).await;
    let low_class = stage.priority("low", 100).await;
    let high_class = stage.priority("high", 1000).await;
    let low = stage
        .job_with("low", "lq", 4, 100_000, low_class.clone())
        .await;
    stage.runs("low").await;
    // Somebody as important has to wait.
    let equal = stage.job_with("equal", "lq", 4, 100_000, low_class).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    stage.workload(&equal, "it waits", waits).await;
    stage.runs("low").await;
    let high = stage.job_with("high", "lq", 4, 100_000, high_class).await;
    stage.runs("high").await;
    stage.is_held("low").await;
    let preempted = |wl: &_| {
        condition(wl, "Evicted") == "True/Preempted"
            && condition(wl, "Preempted") == "True/InClusterQueue"
    };
    let victim = stage.workload(&low, "it was preempted", preempted).await;
    let why = message(&victim, "Preempted");
    let by = stage.workload(&high, "it is admitted", |wl| is(wl, "Admitted"));
    let by = by.await["metadata"]["uid"].as_str().unwrap().to_owned();
    assert!(why.contains(&by), "{why}");
    stage.sound().await;
    stage.delete(JOB, "equal").await;
    stage.delete(JOB, "high").await;
    stage.runs("low").await;
    stage.sound().await;
}
