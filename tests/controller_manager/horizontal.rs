//! HorizontalPodAutoscaler without a metrics API: conditions, Events, limits.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler as Autoscaler;
use serde_json::{Value, json};

use super::cluster_fixture::*;

fn deployment(replicas: i32) -> Value {
    json!({"metadata": {"name": "web"}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }})
}

fn autoscaler(target: &str) -> Value {
    json!({"metadata": {"name": "h"}, "spec": {
        "minReplicas": 2, "maxReplicas": 4,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50}}}],
    }})
}

/// Type, status, reason and message of the conditions.
fn conditions(autoscaler: &Autoscaler) -> Vec<(String, String, String, String)> {
    let status = autoscaler.status.as_ref();
    let conditions = status
        .and_then(|s| s.conditions.clone())
        .unwrap_or_default();
    let parts = conditions.into_iter().map(|c| {
        let (reason, message) = (c.reason.unwrap_or_default(), c.message.unwrap_or_default());
        (c.type_, c.status, reason, message)
    });
    parts.collect()
}

fn has_reason(autoscaler: &Autoscaler, reason: &str) -> bool {
    conditions(autoscaler).iter().any(|c| c.2 == reason)
}

#[test]
fn an_autoscaler_reports_that_metrics_are_missing() {
    with_cluster(|cluster| async move {
        cluster.create_object::<Deployment>(deployment(3)).await;
        cluster.create_object::<Autoscaler>(autoscaler("web")).await;
        let reason = "FailedGetResourceMetric";
        let found = cluster
            .wait_until_object::<Autoscaler>("h", "the conditions", |h| has_reason(h, reason))
            .await;
        let why = "failed to get cpu utilization: unable to get metrics for resource cpu: unable to \
                   fetch metrics from resource metrics API: the server could not find the requested \
                   resource (get pods.metrics.k8s.io)";
        assert_eq!(
            conditions(&found),
            [
                (
                    "AbleToScale".into(),
                    "True".into(),
                    "SucceededGetScale".into(),
                    "the HPA controller was able to get the target's current scale".into(),
                ),
                (
                    "ScalingActive".into(),
                    "False".into(),
                    reason.into(),
                    format!("the HPA was unable to compute the replica count: {why}"),
                ),
            ]
        );
        let status = found.status.unwrap();
        assert_eq!(
            (status.current_replicas, status.desired_replicas),
            (Some(3), 0)
        );
        cluster
            .wait_for("the Events", async || {
                let events = cluster.events("h").await;
                let has = |text: &str| events.iter().any(|event| event.contains(text));
                let all = "invalid metrics (1 invalid out of 1), first error is: failed to get cpu \
                           resource metric value: failed to get cpu utilization";
                (has(why) && has(all)).then_some(())
            })
            .await;
    });
}

#[test]
fn an_autoscaler_keeps_the_replicas_within_its_limits() {
    with_cluster(|cluster| async move {
        cluster.create_object::<Autoscaler>(autoscaler("web")).await;
        let missing = cluster
            .wait_until_object::<Autoscaler>("h", "no target", |h| has_reason(h, "FailedGetScale"))
            .await;
        assert_eq!(
            conditions(&missing)[0].3,
            "the HPA controller was unable to get the target's current scale: deployments.apps \
             \"web\" not found"
        );
        cluster.create_object::<Deployment>(deployment(1)).await;
        let replicas = |d: &Deployment| d.spec.as_ref().and_then(|s| s.replicas);
        cluster
            .wait_until_object::<Deployment>("web", "the minimum", |d| replicas(d) == Some(2))
            .await;
        let scaled = cluster
            .wait_until_object::<Autoscaler>("h", "rescaled", |h| has_reason(h, "SucceededRescale"))
            .await;
        let status = scaled.status.unwrap();
        assert_eq!(
            (status.current_replicas, status.desired_replicas),
            (Some(1), 2)
        );
        assert!(status.last_scale_time.is_some());
        let path = "/apis/apps/v1/namespaces/test/deployments/web";
        cluster.patch(path, json!({"spec": {"replicas": 9}})).await;
        cluster
            .wait_until_object::<Deployment>("web", "the maximum", |d| replicas(d) == Some(4))
            .await;
        cluster.patch(path, json!({"spec": {"replicas": 0}})).await;
        cluster
            .wait_until_object::<Autoscaler>("h", "disabled", |h| has_reason(h, "ScalingDisabled"))
            .await;
    });
}
