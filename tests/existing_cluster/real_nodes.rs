//! Fake GPUs on real nodes, virtual nodes beside them, and their removal.

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::external_cluster::ExternalCluster;
use crate::lab_lifecycle::{NODES, down, up_args, work_dir};
use crate::lab_process::wait_for;

/// Both workers get GPUs, a label and a taint.
const REAL_NODES: &str = "\
realNodes:
- name: workers
  selector: {kubernetes.io/os: linux}
  resources: {nvidia.com/gpu: 4}
  labels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
  taints: [{key: gpu, value: fake, effect: NoSchedule}]
";

fn pools(real: &str) -> String {
    format!("{real}pools:\n{NODES}")
}

fn gpus(node: &Node) -> Option<String> {
    let status = node.status.as_ref()?;
    let [capacity, allocatable] = [&status.capacity, &status.allocatable]
        .map(|amounts| amounts.as_ref()?.get("nvidia.com/gpu").map(|q| q.0.clone()));
    assert_eq!(capacity, allocatable);
    capacity
}

/// The fields of a node that a lab changes.
fn lab_fields_of_node(node: &Node) -> Value {
    let meta = &node.metadata;
    json!({
        "labels": meta.labels, "annotations": meta.annotations.clone().unwrap_or_default(),
        "taints": node.spec.as_ref().and_then(|s| s.taints.clone()),
        "capacity": node.status.as_ref().unwrap().capacity,
        "allocatable": node.status.as_ref().unwrap().allocatable,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn real_nodes_get_fake_gpus_and_are_restored() {
    let cluster = ExternalCluster::start().await;
    let nodes: Api<Node> = Api::all(cluster.client());
    // The user's label and taint, which the lab must keep.
    let theirs = json!({"metadata": {"labels": {"team": "a"}}, "spec": {"taints": [{"key": "x", "effect": "PreferNoSchedule"}]}});
    let params = PatchParams::default();
    nodes
        .patch("worker-0", &params, &Patch::Merge(&theirs))
        .await
        .unwrap();
    // The TTL controller of the cluster annotates nodes too.
    let before = wait_for("worker-0 has its TTL", || async {
        let node = nodes.get("worker-0").await.unwrap();
        let has_ttl = node
            .annotations()
            .contains_key("node.alpha.kubernetes.io/ttl");
        has_ttl.then(|| lab_fields_of_node(&node))
    })
    .await;
    let dir = work_dir();
    dir.write("nodes.yaml", &pools(REAL_NODES));
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;

    let node = nodes.get("worker-0").await.unwrap();
    assert_eq!(gpus(&node).as_deref(), Some("4"));
    let labels = node.metadata.labels.clone().unwrap();
    assert_eq!(labels["nvidia.com/gpu.product"], "NVIDIA-H100-80GB-HBM3");
    assert_eq!(node.spec.unwrap().taints.unwrap().len(), 2);

    cluster.restart_kubelet("worker-0").await;
    wait_for("the GPUs are restored", || async {
        let node = nodes.get("worker-0").await.unwrap();
        (gpus(&node).as_deref() == Some("4")).then_some(())
    })
    .await;

    // The file changes: other GPUs, no taint.
    let changed = REAL_NODES.replace("gpu: 4", "gpu: 2");
    let (changed, _) = changed.split_once("  taints").unwrap();
    dir.write("nodes.yaml", &pools(changed));
    wait_for("the changed file is applied", || async {
        let node = nodes.get("worker-0").await.unwrap();
        let taints = node.spec.as_ref().unwrap().taints.as_ref().unwrap().len();
        (gpus(&node).as_deref() == Some("2") && taints == 1).then_some(())
    })
    .await;

    lab.kill();
    let (code, printed) = down(&dir, &file).await;
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(
        printed,
        "removed 3 objects of presets, 2 virtual nodes and the fake resources of 2 real nodes from other\n"
    );
    assert_eq!(
        lab_fields_of_node(&nodes.get("worker-0").await.unwrap()),
        before
    );
    let left = nodes
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .len();
    assert_eq!(left, 2);
    let (code, printed) = down(&dir, &file).await;
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(
        printed,
        "removed 0 objects of presets, 0 virtual nodes and the fake resources of 0 real nodes from other\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn real_extended_resources_are_kept() {
    let cluster = ExternalCluster::start().await;
    let nodes: Api<Node> = Api::all(cluster.client());
    let real = json!({"status": {"capacity": {"nvidia.com/gpu": "1"}, "allocatable": {"nvidia.com/gpu": "1"}}});
    let params = PatchParams::default();
    nodes
        .patch_status("worker-0", &params, &Patch::Merge(&real))
        .await
        .unwrap();
    let dir = work_dir();
    dir.write("nodes.yaml", &pools(REAL_NODES));
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;
    assert_eq!(
        gpus(&nodes.get("worker-0").await.unwrap()).as_deref(),
        Some("1")
    );
    assert_eq!(
        gpus(&nodes.get("worker-1").await.unwrap()).as_deref(),
        Some("4")
    );
    assert!(
        lab.log()
            .contains("node worker-0 has conflicts: it has real nvidia.com/gpu"),
        "{}",
        lab.log()
    );
    lab.kill();
    let (code, printed) = down(&dir, &file).await;
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(
        gpus(&nodes.get("worker-0").await.unwrap()).as_deref(),
        Some("1")
    );
    assert_eq!(gpus(&nodes.get("worker-1").await.unwrap()), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn virtual_nodes_are_tainted_and_excluded_from_load_balancers() {
    let cluster = ExternalCluster::start().await;
    let nodes: Api<Node> = Api::all(cluster.client());
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;
    let node = nodes.get("gpu-0").await.unwrap();
    let spec = node.spec.unwrap();
    // Network add-ons find no route to create and no address to reach.
    assert_eq!(spec.pod_cidr, None);
    let addresses = node.status.unwrap().addresses.unwrap();
    assert!(
        addresses.iter().all(|a| a.type_ == "Hostname"),
        "{addresses:?}"
    );
    let taints = spec.taints.unwrap();
    let own = taints
        .iter()
        .find(|t| t.key == "kueue-lab.dev/virtual")
        .unwrap();
    assert_eq!(own.effect, "PreferNoSchedule");
    let labels = node.metadata.labels.unwrap();
    assert_eq!(
        labels["node.kubernetes.io/exclude-from-external-load-balancers"],
        "true"
    );
    assert_eq!(lab.stop().await, Some(0));
}
