//! Preemption within one ClusterQueue.

use serde_json::json;

use super::SharedContext;
use crate::objects::{JOB, condition, is_condition_true, message};

pub(super) async fn a_higher_priority_job_preempts_a_lower_one(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    let preemption = json!({"preemption": {"withinClusterQueue": "LowerPriority"}});
    ns.create_queues("lq", 4, preemption).await;
    let low_class = ns.priority("low", 100).await;
    let high_class = ns.priority("high", 1000).await;
    let low = ns
        .job_with("low", "lq", 4, 100_000, low_class.clone())
        .await;
    ns.wait_until_running("low").await;
    // A Job with the same priority stays pending.
    let equal = ns.job_with("equal", "lq", 4, 100_000, low_class).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    ns.wait_for_workload(&equal, "it waits", waits).await;
    ns.wait_until_running("low").await;
    let high = ns.job_with("high", "lq", 4, 100_000, high_class).await;
    ns.wait_until_running("high").await;
    ns.wait_until_suspended("low").await;
    let preempted = |wl: &_| {
        condition(wl, "Evicted") == "True/Preempted"
            && condition(wl, "Preempted") == "True/InClusterQueue"
    };
    let preempted = ns
        .wait_for_workload(&low, "it was preempted", preempted)
        .await;
    let why = message(&preempted, "Preempted");
    let by = ns.wait_for_workload(&high, "it is admitted", |wl| {
        is_condition_true(wl, "Admitted")
    });
    let by = by.await["metadata"]["uid"].as_str().unwrap().to_owned();
    assert!(why.contains(&by), "{why}");
    ns.assert_consistent().await;
    ns.delete(JOB, "equal").await;
    ns.delete(JOB, "high").await;
    ns.wait_until_running("low").await;
    ns.assert_consistent().await;
}
