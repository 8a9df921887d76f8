//! PodDisruptionBudget status.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::json;

use super::cluster_fixture::*;

#[test]
fn a_disruption_budget_counts_allowed_disruptions() {
    with_cluster(|cluster| async move {
        let budget = json!({"metadata": {"name": "b"}, "spec": {
            "minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}});
        cluster.create_object::<PodDisruptionBudget>(budget).await;
        for name in ["p", "q"] {
            let pod: Pod = cluster.create_object(pod(name, "1")).await;
            cluster.set_pod_status(&pod, "Running", true).await;
        }
        let allowed =
            |b: &PodDisruptionBudget| b.status.as_ref().and_then(|s| s.disruptions_allowed);
        let budget = cluster
            .wait_until_object::<PodDisruptionBudget>("b", "one may go", |b| allowed(b) == Some(1))
            .await;
        let status = budget.status.unwrap();
        assert_eq!(
            (
                status.expected_pods,
                status.current_healthy,
                status.desired_healthy
            ),
            (Some(2), Some(2), Some(1))
        );
        assert_eq!(status.conditions.unwrap()[0].reason, "SufficientPods");
        let found = cluster.api::<Pod>().get("p").await.unwrap();
        cluster.set_pod_status(&found, "Running", false).await;
        cluster
            .wait_until_object::<PodDisruptionBudget>("b", "none may go", |b| allowed(b) == Some(0))
            .await;
    });
}
