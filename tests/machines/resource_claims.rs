//! ResourceClaims of pods: creation from templates, allocation, reservation, release.

use std::time::Duration;

use k8s_openapi::api::resource::v1::{
    DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::cluster_fixture::*;

const TWO_DEVICES: &str = "- name: gpu\n  count: 1\n  resources: {cpu: 8, memory: 16Gi}\n  devices: [{driver: gpu.example.com, count: 2}]\n";

const NO_DEVICE: &str = "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, \
     preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";

fn claims(lab: &TestCluster) -> Api<ResourceClaim> {
    Api::namespaced(lab.client.clone(), "test")
}

fn spec() -> Value {
    let exactly = json!({"deviceClassName": "gpu.example.com", "count": 1});
    json!({"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}})
}

async fn create_class(lab: &TestCluster) {
    let class: Api<DeviceClass> = Api::all(lab.client.clone());
    let object = json!({
        "metadata": {"name": "gpu.example.com"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
    });
    let object = serde_json::from_value(object).unwrap();
    class.create(&PostParams::default(), &object).await.unwrap();
}

async fn create_claim(lab: &TestCluster, name: &str) {
    let claim = json!({"metadata": {"name": name}, "spec": spec()});
    let claim = serde_json::from_value(claim).unwrap();
    let params = PostParams::default();
    claims(lab).create(&params, &claim).await.unwrap();
}

async fn create_template(lab: &TestCluster) {
    let templates: Api<ResourceClaimTemplate> = Api::namespaced(lab.client.clone(), "test");
    let object = json!({
        "metadata": {"name": "one-gpu"},
        "spec": {"metadata": {"labels": {"team": "a"}}, "spec": spec()},
    });
    let object = serde_json::from_value(object).unwrap();
    templates
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
}

fn pod_of_template(name: &str, script: &str) -> k8s_openapi::api::core::v1::Pod {
    let claims = json!([{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]);
    pod(name, script, json!({"resourceClaims": claims}))
}

#[test]
fn claims_of_templates_live_as_long_as_their_pods_run() {
    with_cluster(TWO_DEVICES, |lab| async move {
        create_class(&lab).await;
        create_template(&lab).await;
        lab.create(&pod_of_template("a", "sleep 60")).await;
        lab.create(&pod_of_template("b", "sleep 600")).await;
        let a = lab.wait_for_phase("a", "Running").await;
        lab.wait_for_phase("b", "Running").await;
        let status = &a.status.as_ref().unwrap().resource_claim_statuses;
        let status = status.as_ref().unwrap();
        assert_eq!((status.len(), &*status[0].name), (1, "gpu"));
        let name = status[0].resource_claim_name.as_deref().unwrap();
        assert!(name.starts_with("a-gpu-"), "{name}");

        let claim = claims(&lab).get(name).await.unwrap();
        assert_eq!(claim.labels()["team"], "a");
        assert_eq!(
            claim.annotations()["resource.kubernetes.io/pod-claim-name"],
            "gpu"
        );
        assert_eq!(
            claim.finalizers(),
            ["resource.kubernetes.io/delete-protection"]
        );
        let owner = &claim.owner_references()[0];
        assert_eq!(
            (&*owner.kind, &*owner.name, owner.controller),
            ("Pod", "a", Some(true))
        );
        let status = json!(claim.status);
        let term = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-0"]}]});
        assert_eq!(
            status["allocation"]["nodeSelector"]["nodeSelectorTerms"],
            json!([term])
        );
        let result = &status["allocation"]["devices"]["results"][0];
        assert_eq!(result["request"], "gpu");
        assert_eq!(result["pool"], "gpu-0");
        let reserved = json!([{"resource": "pods", "name": "a", "uid": a.uid()}]);
        assert_eq!(status["reservedFor"], reserved);

        // Both devices are in use until a ends; its claim is deleted while the pod still exists.
        lab.create(&pod_of_template("c", "sleep 600")).await;
        lab.wait_for_pod("c", |pod| {
            condition(pod, "PodScheduled").is_some_and(|c| c.2 == NO_DEVICE)
        })
        .await;
        lab.wait_for_phase("a", "Succeeded").await;
        lab.wait_for_phase("c", "Running").await;
        let left = claims(&lab).list(&ListParams::default()).await.unwrap();
        let mut left: Vec<String> = left
            .iter()
            .map(|claim| claim.name_any()[..5].to_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["b-gpu", "c-gpu"]);

        // The garbage collector deletes the claims of deleted pods.
        lab.pods.delete("b", &Default::default()).await.unwrap();
        lab.wait_for_deletion("b").await;
        lab.create(&pod_of_template("d", "sleep 600")).await;
        lab.wait_for_phase("d", "Running").await;
    });
}

#[test]
fn a_pod_waits_for_its_template() {
    with_cluster(TWO_DEVICES, |lab| async move {
        create_class(&lab).await;
        lab.create(&pod_of_template("early", "sleep 600")).await;
        lab.clock.sleep(Duration::from_secs(2)).await;
        let events = lab.events("early").await;
        let expected = "Warning FailedResourceClaimCreation: PodResourceClaim gpu: resource claim template \"one-gpu\": \
             resourceclaimtemplate.resource.k8s.io \"one-gpu\" not found";
        assert!(events.iter().any(|event| event == expected), "{events:?}");
        create_template(&lab).await;
        lab.wait_for_phase("early", "Running").await;
    });
}

#[test]
fn pods_share_a_claim_that_is_deallocated_after_the_last_one() {
    with_cluster(TWO_DEVICES, |lab| async move {
        create_class(&lab).await;
        let by_name = json!({"resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}]});
        lab.create(&pod("a", "sleep 30", by_name.clone())).await;
        lab.clock.sleep(Duration::from_secs(2)).await;
        assert_eq!(node_of(&lab.pods.get("a").await.unwrap()), None);

        create_claim(&lab, "shared").await;
        lab.wait_for_phase("a", "Running").await;
        lab.create(&pod("b", "sleep 60", by_name)).await;
        lab.wait_for_phase("b", "Running").await;
        let status = async || json!(claims(&lab).get("shared").await.unwrap().status);
        assert_eq!(status().await["reservedFor"].as_array().unwrap().len(), 2);

        lab.wait_for_phase("a", "Succeeded").await;
        lab.wait_for_phase("b", "Succeeded").await;
        lab.clock.sleep(Duration::from_secs(1)).await;
        assert_eq!(status().await.get("allocation"), None);
        let claim = claims(&lab).get("shared").await.unwrap();
        assert!(claim.finalizers().is_empty());
    });
}

#[test]
fn a_pod_on_a_node_starts_once_its_claim_is_allocated() {
    with_cluster(TWO_DEVICES, |lab| async move {
        create_class(&lab).await;
        create_claim(&lab, "shared").await;
        let by_name = json!([{"name": "gpu", "resourceClaimName": "shared"}]);
        let bound = json!({"nodeName": "gpu-0", "resourceClaims": by_name});
        lab.create(&pod("bound", "sleep 600", bound)).await;
        lab.clock.sleep(Duration::from_secs(5)).await;
        assert_eq!(phase_of(&lab.pods.get("bound").await.unwrap()), "Pending");
        let events = lab.events("bound").await;
        let expected = "Warning FailedPrepareDynamicResources: Failed to prepare dynamic resources: \
             ResourceClaim shared is not allocated";
        assert!(events.iter().any(|event| event == expected), "{events:?}");

        // Another pod has the claim allocated; the controller reserves it for the bound one.
        let scheduled = json!({"resourceClaims": by_name});
        lab.create(&pod("scheduled", "sleep 600", scheduled)).await;
        lab.wait_for_phase("scheduled", "Running").await;
        lab.wait_for_phase("bound", "Running").await;
    });
}

/// A slice with one device of the node `gpu-0`.
fn slice(device: Value) -> Value {
    json!({
        "metadata": {"name": "by-hand"},
        "spec": {
            "driver": "gpu.example.com", "nodeName": "gpu-0",
            "pool": {"name": "by-hand", "generation": 1, "resourceSliceCount": 1},
            "devices": [device],
        },
    })
}

const NODE: &str = "- name: gpu\n  count: 1\n  resources: {cpu: 8, memory: 16Gi}\n";

#[test]
fn pods_are_evicted_when_their_device_is_tainted() {
    with_cluster(NODE, |lab| async move {
        create_class(&lab).await;
        create_template(&lab).await;
        let slices: Api<ResourceSlice> = Api::all(lab.client.clone());
        let object = serde_json::from_value(slice(json!({"name": "d"}))).unwrap();
        slices
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
        lab.create(&pod_of_template("a", "sleep 600")).await;
        lab.wait_for_phase("a", "Running").await;
        let taint = json!({"key": "example.com/unhealthy", "effect": "NoExecute"});
        let tainted = json!({"spec": {"devices": [{"name": "d", "taints": [taint]}]}});
        let params = PatchParams::default();
        slices
            .patch("by-hand", &params, &Patch::Merge(&tainted))
            .await
            .unwrap();
        lab.wait_for_deletion("a").await;
        // The next pod is not scheduled to it.
        lab.create(&pod_of_template("b", "sleep 600")).await;
        lab.wait_for_pod("b", |pod| {
            condition(pod, "PodScheduled").is_some_and(|(_, _, message)| message == NO_DEVICE)
        })
        .await;
    });
}

#[test]
fn a_pod_is_bound_when_its_device_is_ready() {
    with_cluster(NODE, |lab| async move {
        create_class(&lab).await;
        create_template(&lab).await;
        let slices: Api<ResourceSlice> = Api::all(lab.client.clone());
        let device = json!({"name": "d", "bindingConditions": ["Attached"], "bindingFailureConditions": ["Failed"]});
        let object = serde_json::from_value(slice(device)).unwrap();
        slices
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
        lab.create(&pod_of_template("a", "sleep 600")).await;
        let claims = claims(&lab);
        let claim = loop {
            let all = claims.list(&ListParams::default()).await.unwrap().items;
            let mut allocated = all.into_iter().filter(|claim| {
                claim
                    .status
                    .as_ref()
                    .is_some_and(|s| s.allocation.is_some())
            });
            if let Some(claim) = allocated.next() {
                break claim.name_any();
            }
            lab.clock.sleep(Duration::from_secs(1)).await;
        };
        lab.clock.sleep(Duration::from_secs(60)).await;
        let waiting = lab.pods.get("a").await.unwrap();
        assert_eq!(node_of(&waiting), None);
        let attached = json!({"type": "Attached", "status": "True", "reason": "ByTest", "message": "", "lastTransitionTime": "2026-03-02T12:00:00Z"});
        let status = json!({"status": {"devices": [{"driver": "gpu.example.com", "pool": "by-hand", "device": "d", "conditions": [attached]}]}});
        claims
            .patch_status(&claim, &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
        lab.wait_for_phase("a", "Running").await;
    });
}

/// A pod that requests an extended resource gets a claim of the scheduler once a DeviceClass backs the
/// resource, and devices are left.
#[test]
fn extended_resources_are_allocated_as_devices() {
    with_cluster(TWO_DEVICES, |lab| async move {
        let of_gpus = |name: &str, gpus: &str, script: &str| {
            with_requests(
                pod(name, script, json!({})),
                json!({"cpu": "1", "example.com/gpu": gpus}),
            )
        };
        lab.create(&of_gpus("a", "2", "sleep 600")).await;
        lab.wait_for_pod("a", |pod| {
            let scheduled = condition(pod, "PodScheduled");
            scheduled.is_some_and(|c| c.2.contains("Insufficient example.com/gpu"))
        })
        .await;
        let class: Api<DeviceClass> = Api::all(lab.client.clone());
        let object = json!({
            "metadata": {"name": "gpu.example.com"},
            "spec": {
                "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}],
                "extendedResourceName": "example.com/gpu",
            },
        });
        let object = serde_json::from_value(object).unwrap();
        class.create(&PostParams::default(), &object).await.unwrap();

        let a = lab.wait_for_phase("a", "Running").await;
        let status = json!(a.status.as_ref().unwrap().extended_resource_claim_status);
        let name = status["resourceClaimName"].as_str().unwrap();
        assert!(name.starts_with("a-extended-resources-"), "{name}");
        let mapping = json!({"containerName": "c", "resourceName": "example.com/gpu", "requestName": "container-0-request-1"});
        assert_eq!(status["requestMappings"], json!([mapping]));
        let claim = claims(&lab).get(name).await.unwrap();
        let annotation = "resource.kubernetes.io/extended-resource-claim";
        assert_eq!(claim.annotations()[annotation], "true");
        assert_eq!(claim.owner_references()[0].uid, a.uid().unwrap());
        let reserved = json!([{"resource": "pods", "name": "a", "uid": a.uid()}]);
        let status = json!(claim.status);
        assert_eq!(status["reservedFor"], reserved);
        let results = status["allocation"]["devices"]["results"].as_array();
        assert_eq!(results.unwrap().len(), 2);

        // The claim ends with its pod, and its devices are those of the next one.
        lab.create(&of_gpus("b", "1", "sleep 60")).await;
        lab.wait_for_pod("b", |pod| {
            condition(pod, "PodScheduled").is_some_and(|c| c.2 == NO_DEVICE)
        })
        .await;
        let params = kube::api::DeleteParams::default();
        lab.pods.delete("a", &params).await.unwrap();
        lab.wait_for_phase("b", "Succeeded").await;
        let no_claims = async || {
            let left = claims(&lab).list(&ListParams::default()).await.unwrap();
            left.items.is_empty()
        };
        while !no_claims().await {
            lab.clock.sleep(Duration::from_secs(1)).await;
        }
    });
}
