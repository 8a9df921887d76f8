//! The order of those who wait.

use serde_json::{Value, json};

use super::Scene;
use crate::objects::{JOB, WORKLOAD, condition, is, is_owned_by};

pub async fn strict_order_waits_for_the_first(Scene { stage, .. }: Scene<'_>) {
    stage
        .queue("lq", 4, json!({"queueingStrategy": "StrictFIFO"}))
        .await;
    stage.job("running", "lq", 2, 100_000).await;
    stage.runs("running").await;
    // Who came first cannot be told of two that came in the same second.
    let important = stage.priority("important", 1000).await;
    let head = stage.job_with("head", "lq", 4, 100_000, important).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    stage.workload(&head, "it waits", waits).await;
    let small = stage.job("small", "lq", 1, 100_000).await;
    stage.workload(&small, "it is there", |_| true).await;
    stage.delete(JOB, "running").await;
    let what = "the first of those who wait is let in, and nobody before it";
    stage
        .wait_all(WORKLOAD, what, |known| {
            let admitted = |job: &Value| {
                let mut of = known.values().filter(|wl| is_owned_by(wl, job));
                of.any(|wl| is(wl, "Admitted"))
            };
            let passed = admitted(&small) && !admitted(&head);
            assert!(!passed, "the small one passed the first");
            admitted(&head).then_some(())
        })
        .await;
    stage.sound().await;
    stage.delete(JOB, "head").await;
    stage.runs("small").await;
    stage.sound().await;
}

pub async fn best_effort_passes_who_does_not_fit(Scene { stage, .. }: Scene<'_>) {
    stage
        .queue("lq", 4, json!({"queueingStrategy": "BestEffortFIFO"}))
        .await;
    stage.job("running", "lq", 2, 100_000).await;
    stage.runs("running").await;
    let head = stage.job("head", "lq", 4, 100_000).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    stage.workload(&head, "it waits", waits).await;
    stage.job("small", "lq", 1, 100_000).await;
    stage.runs("small").await;
    stage.is_held("head").await;
    stage.sound().await;
    for name in ["running", "small"] {
        stage.delete(JOB, name).await;
    }
    stage.runs("head").await;
    stage.sound().await;
}
