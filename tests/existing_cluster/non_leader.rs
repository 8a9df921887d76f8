//! Labs that are not the leader: they change no real nodes and provision no ProvisioningRequests.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, PodTemplate};
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, watcher};
use kueue_lab_api::provisioning_request::ProvisioningRequest;
use parking_lot::Mutex;
use serde_json::json;

use crate::external_cluster::ExternalCluster;
use crate::lab_lifecycle::{up_args, work_dir};
use crate::lab_process::wait_for;

const BEST_EFFORT_ATOMIC_SCALE_UP: &str = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";

/// A nodes file with GPUs per real node, and a pool of two that scales up to a maximum.
fn nodes(gpus: u32, max: u32) -> String {
    format!(
        "\
realNodes:
- name: workers
  selector: {{kubernetes.io/os: linux}}
  resources: {{nvidia.com/gpu: {gpus}}}
pools:
- name: gpu
  count: 2
  resources: {{cpu: 16, memory: 64Gi, nvidia.com/gpu: 8}}
  autoscale: {{max: {max}}}
"
    )
}

async fn gpus(client: &Client, node: &str) -> String {
    let nodes: Api<Node> = Api::all(client.clone());
    gpus_of(&nodes.get(node).await.unwrap())
}

fn gpus_of(node: &Node) -> String {
    let capacity = node.status.as_ref().and_then(|s| s.capacity.as_ref());
    let amount = capacity.and_then(|c| c.get("nvidia.com/gpu"));
    amount.map_or_else(String::new, |q| q.0.clone())
}

/// The GPUs of real nodes and the reasons of ProvisioningRequests that were observed.
#[derive(Clone, Default)]
struct ObservedState {
    gpus: Arc<Mutex<BTreeSet<String>>>,
    reasons: Arc<Mutex<BTreeSet<String>>>,
}

impl ObservedState {
    fn watch(client: &Client) -> Self {
        let seen = Self::default();
        let nodes: Api<Node> = Api::all(client.clone());
        let gpus = seen.gpus.clone();
        let mut changes = watcher(nodes, Config::default()).applied_objects().boxed();
        tokio::spawn(async move {
            while let Some(change) = changes.next().await {
                let node: Node = change.unwrap();
                if node.metadata.name.as_ref().unwrap().starts_with("worker") {
                    gpus.lock().insert(gpus_of(&node));
                }
            }
        });
        let requests: Api<ProvisioningRequest> = Api::all(client.clone());
        let reasons = seen.reasons.clone();
        let mut changes = watcher(requests, Config::default())
            .applied_objects()
            .boxed();
        tokio::spawn(async move {
            while let Some(change) = changes.next().await {
                let printed = change.unwrap().status.conditions.into_iter();
                reasons.lock().extend(printed.map(|c| c.reason));
            }
        });
        seen
    }

    fn gpus(&self) -> Vec<String> {
        self.gpus.lock().iter().cloned().collect()
    }

    fn reasons(&self) -> Vec<String> {
        self.reasons.lock().iter().cloned().collect()
    }
}

/// Requests capacity for three pods of 8 GPUs, which needs one more node.
async fn create_provisioning_request(client: &Client, name: &str) {
    let template: PodTemplate = serde_json::from_value(json!({
        "metadata": {"name": name}, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "busybox", "resources": {
                "requests": {"nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"},
            }}],
        }},
    }))
    .unwrap();
    let params = PostParams::default();
    let templates = Api::namespaced(client.clone(), "default");
    templates.create(&params, &template).await.unwrap();
    let request: ProvisioningRequest = serde_json::from_value(json!({
        "metadata": {"name": name}, "spec": {
            "provisioningClassName": BEST_EFFORT_ATOMIC_SCALE_UP,
            "podSets": [{"count": 3, "podTemplateRef": {"name": name}}],
        },
    }))
    .unwrap();
    let requests = Api::namespaced(client.clone(), "default");
    requests.create(&params, &request).await.unwrap();
}

/// Waits until a ProvisioningRequest has this reason.
async fn wait_for_reason(client: &Client, name: &str, reason: &str) {
    let requests: Api<ProvisioningRequest> = Api::namespaced(client.clone(), "default");
    wait_for(&format!("{name} has reason {reason}"), || async {
        let printed = requests.get(name).await.unwrap().status.conditions;
        printed.iter().any(|c| c.reason == reason).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_non_leader_patches_no_nodes_and_answers_no_provisioning_requests() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let (one, other) = (work_dir(), work_dir());
    one.write("nodes.yaml", &nodes(4, 4));
    other.write("nodes.yaml", &nodes(6, 2));
    let far = cluster.kubeconfig().display().to_string();
    let near = cluster.direct_kubeconfig().display().to_string();
    let cut_off = one.start(&up_args(&far)).await;
    assert_eq!(gpus(&client, "worker-0").await, "4");
    cluster.proxy.drop_connections();
    let leads = other.start(&up_args(&near)).await;
    assert_eq!(gpus(&client, "worker-0").await, "6");
    cluster.proxy.resume();
    cut_off.wait_until_not_leader().await;

    let seen = ObservedState::watch(&client);
    wait_for("the watches are open", || async {
        (!seen.gpus().is_empty()).then_some(())
    })
    .await;
    one.write("nodes.yaml", &nodes(3, 5));
    wait_for("the first has read its folder", || async {
        let log = cut_off.log();
        let after = log.split("lost leadership").nth(1)?;
        after.contains("nodes applied").then_some(())
    })
    .await;
    cluster.restart_kubelet("worker-0").await;
    wait_for("the GPUs are restored", || async {
        (gpus(&client, "worker-0").await == "6").then_some(())
    })
    .await;
    // Node updates trigger a reconciliation.
    let touch = json!({"metadata": {"labels": {"touched": "true"}}});
    let all: Api<Node> = Api::all(client.clone());
    for name in ["worker-0", "worker-1"] {
        let params = PatchParams::default();
        let patch = Patch::Merge(&touch);
        all.patch(name, &params, &patch).await.unwrap();
    }
    // The nodes file of the first lab permits a scale-up; that of the leader does not.
    for n in 0..6 {
        create_provisioning_request(&client, &format!("r{n}")).await;
    }
    for n in 0..6 {
        wait_for_reason(&client, &format!("r{n}"), "CapacityIsNotFound").await;
    }
    wait_for("the watch has the reason", || async {
        let expected = seen.reasons().iter().any(|r| r == "CapacityIsNotFound");
        expected.then_some(())
    })
    .await;
    let right = |gpus: &String| gpus == "0" || gpus == "6";
    assert!(seen.gpus().iter().all(right), "{:?}", seen.gpus());
    assert_eq!(seen.reasons(), ["Accepted", "CapacityIsNotFound"]);
    let there = all.list(&ListParams::default()).await.unwrap().items.len();
    assert_eq!(there, 4);

    assert_eq!(leads.stop().await, Some(0));
    wait_for("the first applies its file", || async {
        (gpus(&client, "worker-1").await == "3").then_some(())
    })
    .await;
    assert_eq!(cut_off.stop().await, Some(0));
}
