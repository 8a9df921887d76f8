//! ProvisioningRequests and the scale-up of node pools.

use std::time::Duration;

use k8s_openapi::api::core::v1::PodTemplate;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kueue_lab_api::provisioning_request::ProvisioningRequest;
use serde_json::json;

use super::cluster_fixture::*;

async fn create_provisioning_request(
    lab: &TestCluster,
    name: &str,
    class: &str,
    count: i32,
) -> Api<ProvisioningRequest> {
    let template = json!({"metadata": {"name": name}, "template": {"spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "busybox",
            "resources": {"requests": {"nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"}}}],
    }}});
    let template: PodTemplate = serde_json::from_value(template).unwrap();
    Api::namespaced(lab.client.clone(), "test")
        .create(&PostParams::default(), &template)
        .await
        .unwrap();
    let request = json!({"metadata": {"name": name}, "spec": {
        "provisioningClassName": class,
        "podSets": [{"count": count, "podTemplateRef": {"name": name}}],
    }});
    let request: ProvisioningRequest = serde_json::from_value(request).unwrap();
    let api = Api::namespaced(lab.client.clone(), "test");
    api.create(&PostParams::default(), &request).await.unwrap();
    api
}

async fn crd(lab: &TestCluster) {
    let crd = json!({
        "metadata": {"name": "provisioningrequests.autoscaling.x-k8s.io", "annotations": {
            "api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/5848"}},
        "spec": {
            "group": "autoscaling.x-k8s.io", "scope": "Namespaced",
            "names": {"kind": "ProvisioningRequest", "plural": "provisioningrequests"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    let crd: CustomResourceDefinition = serde_json::from_value(crd).unwrap();
    Api::all(lab.client.clone())
        .create(&PostParams::default(), &crd)
        .await
        .unwrap();
    // The autoscaler polls for its CRD.
    lab.clock.sleep(Duration::from_secs(120)).await;
}

async fn condition_lines(api: &Api<ProvisioningRequest>, name: &str) -> Vec<String> {
    let conditions = api.get(name).await.unwrap().status.conditions;
    conditions
        .iter()
        .map(|c| format!("{}={} {}", c.type_, c.status, c.reason))
        .collect()
}

#[test]
fn provisioning_requests_use_free_capacity_or_scale_up() {
    let pools = "- name: gpu\n  count: 1\n  resources: {cpu: 8, memory: 16Gi, nvidia.com/gpu: 8}\n  autoscale: {max: 3}\n";
    with_cluster(pools, |lab| async move {
        crd(&lab).await;
        let checks = "check-capacity.autoscaling.x-k8s.io";
        let api = create_provisioning_request(&lab, "one", checks, 1).await;
        lab.clock.sleep(Duration::from_secs(5)).await;
        assert_eq!(
            condition_lines(&api, "one").await,
            ["Accepted=True Accepted", "Provisioned=True CapacityIsFound"]
        );
        create_provisioning_request(&lab, "other", checks, 1).await;
        lab.clock.sleep(Duration::from_secs(5)).await;
        // Existing capacity is reserved for the first request.
        assert_eq!(
            condition_lines(&api, "other").await,
            [
                "Accepted=True Accepted",
                "Provisioned=False CapacityIsNotFound"
            ]
        );
        create_provisioning_request(&lab, "more", "queued-provisioning.gke.io", 2).await;
        lab.clock.sleep(Duration::from_secs(60)).await;
        assert_eq!(
            condition_lines(&api, "more").await,
            [
                "Accepted=True Accepted",
                "Provisioned=True CapacityIsProvisioned",
                "Failed=False NotFailed"
            ]
        );
        let nodes = lab.nodes.list(&ListParams::default()).await.unwrap();
        assert_eq!(nodes.items.len(), 3);
        let atomic = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
        create_provisioning_request(&lab, "much", atomic, 40).await;
        lab.clock.sleep(Duration::from_secs(60)).await;
        assert_eq!(
            condition_lines(&api, "much").await,
            ["Accepted=True Accepted", "Failed=True CapacityIsNotFound"]
        );
        lab.clock.sleep(Duration::from_secs(700)).await;
        assert_eq!(
            condition_lines(&api, "other").await[1],
            "Provisioned=True CapacityIsFound"
        );
    });
}

#[test]
fn nodes_arrive_after_the_delay_and_leave_when_unneeded() {
    let pools = "- name: gpu\n  count: 0\n  resources: {cpu: 8, memory: 16Gi, nvidia.com/gpu: 8}\n  autoscale: {max: 3, delay: 1m, scaleDownUnneededTime: 5m}\n";
    with_cluster(pools, |lab| async move {
        crd(&lab).await;
        let nodes = async || {
            lab.nodes
                .list(&ListParams::default())
                .await
                .unwrap()
                .items
                .len()
        };
        let api = create_provisioning_request(&lab, "r", "queued-provisioning.gke.io", 2).await;
        lab.clock.sleep(Duration::from_secs(50)).await;
        assert_eq!(
            condition_lines(&api, "r").await,
            [
                "Accepted=True Accepted",
                "Provisioned=False CapacityIsNotProvisioned",
                "Failed=False NotFailed"
            ]
        );
        assert_eq!(nodes().await, 0);
        lab.clock.sleep(Duration::from_secs(20)).await;
        assert_eq!(
            condition_lines(&api, "r").await[1],
            "Provisioned=True CapacityIsProvisioned"
        );
        assert_eq!(nodes().await, 2);
        // The capacity is booked for ten minutes; the nodes are unneeded afterwards.
        lab.clock.sleep(Duration::from_secs(600)).await;
        assert_eq!(nodes().await, 2);
        lab.clock.sleep(Duration::from_secs(660)).await;
        assert_eq!(nodes().await, 0);
    });
}
