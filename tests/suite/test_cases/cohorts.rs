//! Cohorts: borrowing and reclaiming.

use serde_json::json;

use super::SharedContext;
use crate::objects::{GPU, JOB, condition, message};

pub(super) async fn idle_quota_is_borrowed_and_reclaimed(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    let cohort = ns.cluster_scoped_name("cohort");
    let spec = json!({"cohortName": cohort, "preemption": {"reclaimWithinCohort": "Any"}});
    ns.create_queues("ours", 4, spec.clone()).await;
    ns.create_queues("theirs", 4, spec).await;
    let important = ns.priority("important", 1000).await;
    ns.job_with("own", "theirs", 4, 100_000, important).await;
    ns.wait_until_running("own").await;
    let borrower = ns.job("borrower", "theirs", 4, 100_000).await;
    ns.wait_until_running("borrower").await;
    ns.assert_consistent().await;
    ns.job("owner", "ours", 4, 100_000).await;
    ns.wait_until_running("owner").await;
    // The Workload with the lower priority is preempted.
    ns.wait_until_suspended("borrower").await;
    let preempted = |wl: &_| condition(wl, "Preempted") == "True/InCohortReclamation";
    ns.wait_for_workload(&borrower, "it was reclaimed", preempted)
        .await;
    ns.wait_until_running("own").await;
    ns.assert_consistent().await;
    ns.delete(JOB, "owner").await;
    ns.wait_until_running("borrower").await;
    ns.assert_consistent().await;
}

pub(super) async fn borrowing_stops_at_the_borrowing_limit(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    let cohort = ns.cluster_scoped_name("cohort");
    let spec = json!({"cohortName": cohort});
    ns.create_queues("rich", 8, spec).await;
    let flavors = json!([{"name": "suite", "resources": [
        {"name": GPU, "nominalQuota": "2", "borrowingLimit": "2"},
    ]}]);
    let groups = json!([{"coveredResources": [GPU], "flavors": flavors}]);
    let spec = json!({"cohortName": cohort, "resourceGroups": groups});
    ns.create_queues("poor", 2, spec).await;
    ns.job("modest", "poor", 4, 100_000).await;
    ns.wait_until_running("modest").await;
    let greedy = ns.job("greedy", "poor", 1, 100_000).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    let waiting = ns.wait_for_workload(&greedy, "it waits", waits).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient unused quota for nvidia.com/gpu in flavor suite, 1 more needed"),
        "{why}"
    );
    let huge = ns.job("huge", "poor", 5, 100_000).await;
    let never = |wl: &_| condition(wl, "QuotaReserved") == "False/ExceedsMaxQuota";
    let waiting = ns.wait_for_workload(&huge, "it waits", never).await;
    let why = message(&waiting, "QuotaReserved");
    assert!(
        why.contains("insufficient quota for nvidia.com/gpu in flavor suite"),
        "{why}"
    );
    ns.assert_consistent().await;
}
