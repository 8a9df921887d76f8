//! The order of those who wait.

use serde_json::{Value, json};

use super::SharedContext;
use crate::objects::{JOB, WORKLOAD, condition, is_condition_true, is_owned_by};

pub async fn strict_fifo_blocks_on_the_head(SharedContext { stage, .. }: SharedContext<'_>) {
    stage
        .create_queues("lq", 4, json!({"queueingStrategy": "StrictFIFO"}))
        .await;
    stage.job("running", "lq", 2, 100_000).await;
    stage.wait_until_running("running").await;
    // Who came first cannot be told of two that came in the same second.
    let important = stage.priority("important", 1000).await;
    let head = stage.job_with("head", "lq", 4, 100_000, important).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    stage.wait_for_workload(&head, "it waits", waits).await;
    let small = stage.job("small", "lq", 1, 100_000).await;
    stage
        .wait_for_workload(&small, "it is there", |_| true)
        .await;
    stage.delete(JOB, "running").await;
    let what = "the first of those who wait is let in, and nobody before it";
    stage
        .wait_all(WORKLOAD, what, |known| {
            let admitted = |job: &Value| {
                let mut of = known.values().filter(|wl| is_owned_by(wl, job));
                of.any(|wl| is_condition_true(wl, "Admitted"))
            };
            let passed = admitted(&small) && !admitted(&head);
            assert!(!passed, "the small one passed the first");
            admitted(&head).then_some(())
        })
        .await;
    stage.assert_consistent().await;
    stage.delete(JOB, "head").await;
    stage.wait_until_running("small").await;
    stage.assert_consistent().await;
}

pub async fn best_effort_fifo_skips_what_does_not_fit(
    SharedContext { stage, .. }: SharedContext<'_>,
) {
    stage
        .create_queues("lq", 4, json!({"queueingStrategy": "BestEffortFIFO"}))
        .await;
    stage.job("running", "lq", 2, 100_000).await;
    stage.wait_until_running("running").await;
    let head = stage.job("head", "lq", 4, 100_000).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    stage.wait_for_workload(&head, "it waits", waits).await;
    stage.job("small", "lq", 1, 100_000).await;
    stage.wait_until_running("small").await;
    stage.wait_until_suspended("head").await;
    stage.assert_consistent().await;
    for name in ["running", "small"] {
        stage.delete(JOB, name).await;
    }
    stage.wait_until_running("head").await;
    stage.assert_consistent().await;
}
