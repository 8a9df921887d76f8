//! Queueing strategies.

use serde_json::{Value, json};

use super::SharedContext;
use crate::objects::{JOB, WORKLOAD, condition, is_condition_true, is_owned_by};

pub(super) async fn strict_fifo_blocks_on_the_head(SharedContext { ns, .. }: SharedContext<'_>) {
    ns.create_queues("lq", 4, json!({"queueingStrategy": "StrictFIFO"}))
        .await;
    ns.job("running", "lq", 2, 100_000).await;
    ns.wait_until_running("running").await;
    // Creation timestamps have a resolution of one second.
    let important = ns.priority("important", 1000).await;
    let head = ns.job_with("head", "lq", 4, 100_000, important).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    ns.wait_for_workload(&head, "it waits", waits).await;
    let small = ns.job("small", "lq", 1, 100_000).await;
    ns.wait_for_workload(&small, "it is there", |_| true).await;
    ns.delete(JOB, "running").await;
    let what = "the head is admitted first";
    ns.wait_all(WORKLOAD, what, |known| {
        let admitted = |job: &Value| {
            let mut of = known.values().filter(|wl| is_owned_by(wl, job));
            of.any(|wl| is_condition_true(wl, "Admitted"))
        };
        let passed = admitted(&small) && !admitted(&head);
        assert!(!passed, "a later Job was admitted before the head");
        admitted(&head).then_some(())
    })
    .await;
    ns.assert_consistent().await;
    ns.delete(JOB, "head").await;
    ns.wait_until_running("small").await;
    ns.assert_consistent().await;
}

pub(super) async fn best_effort_fifo_skips_what_does_not_fit(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    ns.create_queues("lq", 4, json!({"queueingStrategy": "BestEffortFIFO"}))
        .await;
    ns.job("running", "lq", 2, 100_000).await;
    ns.wait_until_running("running").await;
    let head = ns.job("head", "lq", 4, 100_000).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    ns.wait_for_workload(&head, "it waits", waits).await;
    ns.job("small", "lq", 1, 100_000).await;
    ns.wait_until_running("small").await;
    ns.wait_until_suspended("head").await;
    ns.assert_consistent().await;
    for name in ["running", "small"] {
        ns.delete(JOB, name).await;
    }
    ns.wait_until_running("head").await;
    ns.assert_consistent().await;
}
