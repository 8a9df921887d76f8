//! Clock skew between a cluster and its labs.

use serde_json::json;

use super::FaultContext;
use crate::objects::JOB;

/// Of two labs the leader is killed.
pub(super) async fn clock_skew(context: &FaultContext) {
    let ns = &context.ns;
    let first = context.up().ready().await;
    let second = context.up();
    context.wait_for_log(&second, "waiting: ").await;
    ns.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two", "three"] {
        ns.job(name, "lq", 4, 100_000).await;
    }
    context.wait_for_admitted(2).await;
    ns.assert_consistent().await;
    first.kill();
    let second = second.ready().await;
    let late = ns.job("late", "lq", 4, 1).await;
    assert_eq!(late["spec"]["suspend"], true);
    ns.assert_consistent().await;
    for name in ["one", "two", "three"] {
        ns.delete(JOB, name).await;
    }
    let complete = |job: &_| crate::objects::is_condition_true(job, "Complete");
    ns.wait_until(JOB, "late", "it is complete", complete).await;
    ns.assert_consistent().await;
    assert_eq!(second.stop().await, Some(0));
}
