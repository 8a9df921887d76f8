//! Quota that ClusterQueues share.

use serde_json::json;

use super::Scene;
use crate::objects::{GPU, JOB, condition, message};

pub async fn idle_quota_is_borrowed_and_reclaimed(Scene { stage, .. }: Scene<'_>) {
    let cohort = stage.global("cohort");
    let spec = json!({"cohortName": cohort, "preemption": {"reclaimWithinCohort": "Any"}});
    stage.queue("ours", 4, spec.clone()).await;
    stage.queue("theirs", 4, spec).await;
    let important = stage.priority("important", 1000).await;
    stage.job_with("own", "theirs", 4, 100_000, important).await;
    stage.runs("own").await;
    let borrower = stage.job("borrower", "theirs", 4, 100_000).await;
    stage.runs("borrower").await;
    stage.sound().await;
    stage.job("owner", "ours", 4, 100_000).await;
    stage.runs("owner").await;
    // The less important one has to leave.
    stage.is_held("borrower").await;
    let preempted = |wl: &_| condition(wl, "Preempted") == "True/InCohortReclamation";
    stage
        .workload(&borrower, "it was reclaimed", preempted)
        .await;
    stage.runs("own").await;
    stage.sound().await;
    stage.delete(JOB, "owner").await;
    stage.runs("borrower").await;
    stage.sound().await;
}

pub async fn nobody_borrows_beyond_the_limit(Scene { stage, .. }: Scene<'_>) {
    let cohort = stage.global("cohort");
    let spec = json!({"cohortName": cohort});
    stage.queue("rich", 8, spec).await;
    let flavors = json!([{"name": "suite", "resources": [
        {"name": GPU, "nominalQuota": "2", "borrowingLimit": "2"},
    ]}]);
    let groups = json!([{"coveredResources": [GPU], "flavors": flavors}]);
    let spec = json!({"cohortName": cohort, "resourceGroups": groups});
    stage.queue("poor", 2, spec).await;
    stage.job("modest", "poor", 4, 100_000).await;
    stage.runs("modest").await;
    let greedy = stage.job("greedy", "poor", 1, 100_000).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    let waiting = stage.workload(&greedy, "it waits", waits).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient unused quota for nvidia.com/gpu in flavor suite, 1 more needed"),
        "{why}"
    );
    let huge = stage.job("huge", "poor", 5, 100_000).await;
    let never = |wl: &_| condition(wl, "QuotaReserved") == "False/ExceedsMaxQuota";
    let waiting = stage.workload(&huge, "it waits", never).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient quota for nvidia.com/gpu in flavor suite"),
        "{why}"
    );
    stage.sound().await;
}
