//! Clocks that differ between a cluster and the labs on it.

use serde_json::json;

use super::FaultContext;
use crate::objects::JOB;

/// Two labs, the first of which is killed.
pub async fn clock_skew(trouble: &FaultContext) {
    let stage = &trouble.stage;
    let first = trouble.up().ready().await;
    let second = trouble.up();
    trouble.wait_for_log(&second, "waiting: ").await;
    stage.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two", "three"] {
        stage.job(name, "lq", 4, 100_000).await;
    }
    trouble.wait_for_admitted(2).await;
    stage.assert_consistent().await;
    first.kill();
    let second = second.ready().await;
    let late = stage.job("late", "lq", 4, 1).await;
    assert_eq!(late["spec"]["suspend"], true);
    stage.assert_consistent().await;
    for name in ["one", "two", "three"] {
        stage.delete(JOB, name).await;
    }
    let complete = |job: &_| crate::objects::is_condition_true(job, "Complete");
    stage
        .wait_until(JOB, "late", "it is complete", complete)
        .await;
    stage.assert_consistent().await;
    assert_eq!(second.stop().await, Some(0));
}
