//! Quota that ClusterQueues share.

use serde_json::json;

use super::SharedContext;
use crate::objects::{GPU, JOB, condition, message};

pub async fn idle_quota_is_borrowed_and_reclaimed(SharedContext { stage, .. }: SharedContext<'_>) {
    let cohort = stage.cluster_scoped_name("cohort");
    let spec = json!({"cohortName": cohort, "preemption": {"reclaimWithinCohort": "Any"}});
    stage.create_queues("ours", 4, spec.clone()).await;
    stage.create_queues("theirs", 4, spec).await;
    let important = stage.priority("important", 1000).await;
    stage.job_with("own", "theirs", 4, 100_000, important).await;
    stage.wait_until_running("own").await;
    let borrower = stage.job("borrower", "theirs", 4, 100_000).await;
    stage.wait_until_running("borrower").await;
    stage.assert_consistent().await;
    stage.job("owner", "ours", 4, 100_000).await;
    stage.wait_until_running("owner").await;
    // The less important one has to leave.
    stage.wait_until_suspended("borrower").await;
    let preempted = |wl: &_| condition(wl, "Preempted") == "True/InCohortReclamation";
    stage
        .wait_for_workload(&borrower, "it was reclaimed", preempted)
        .await;
    stage.wait_until_running("own").await;
    stage.assert_consistent().await;
    stage.delete(JOB, "owner").await;
    stage.wait_until_running("borrower").await;
    stage.assert_consistent().await;
}

pub async fn borrowing_stops_at_the_borrowing_limit(
    SharedContext { stage, .. }: SharedContext<'_>,
) {
    let cohort = stage.cluster_scoped_name("cohort");
    let spec = json!({"cohortName": cohort});
    stage.create_queues("rich", 8, spec).await;
    let flavors = json!([{"name": "suite", "resources": [
        {"name": GPU, "nominalQuota": "2", "borrowingLimit": "2"},
    ]}]);
    let groups = json!([{"coveredResources": [GPU], "flavors": flavors}]);
    let spec = json!({"cohortName": cohort, "resourceGroups": groups});
    stage.create_queues("poor", 2, spec).await;
    stage.job("modest", "poor", 4, 100_000).await;
    stage.wait_until_running("modest").await;
    let greedy = stage.job("greedy", "poor", 1, 100_000).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    let waiting = stage.wait_for_workload(&greedy, "it waits", waits).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient unused quota for nvidia.com/gpu in flavor suite, 1 more needed"),
        "{why}"
    );
    let huge = stage.job("huge", "poor", 5, 100_000).await;
    let never = |wl: &_| condition(wl, "QuotaReserved") == "False/ExceedsMaxQuota";
    let waiting = stage.wait_for_workload(&huge, "it waits", never).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient quota for nvidia.com/gpu in flavor suite"),
        "{why}"
    );
    stage.assert_consistent().await;
}
