//! Nodes are reconciled with their pools.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::resource::v1::ResourceSlice;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kueue_lab_nodes::NodePools;
use serde_json::json;

use super::cluster_fixture::*;

async fn names(lab: &TestCluster) -> Vec<String> {
    let list = lab.nodes.list(&ListParams::default()).await.unwrap();
    list.iter().map(Node::name_any).collect()
}

fn pools_with_devices(devices: &str) -> NodePools {
    let text = format!(
        "- name: gpu\n  count: 2\n  resources: {{cpu: 6, memory: 16Gi}}\n  devices: {devices}\n"
    );
    NodePools::parse(&text).unwrap()
}

#[test]
fn devices_are_published_in_resource_slices() {
    with_cluster(POOLS, |lab| async move {
        let slices: Api<ResourceSlice> = Api::all(lab.client.clone());
        let list = async || slices.list(&ListParams::default()).await.unwrap().items;
        assert!(list().await.is_empty());
        let devices = "[{driver: gpu.example.com, count: 2, attributes: {model: a100, index: 1, mig: true}, capacity: {memory: 80Gi}}]";
        lab.machines.apply_pools(pools_with_devices(devices)).await;
        let mut published = list().await;
        published.sort_by_key(|slice| slice.spec.node_name.clone());
        assert_eq!(published.len(), 2);
        let spec = &published[0].spec;
        let wanted = ["device-0", "device-1"].map(|name| {
            json!({
                "name": name,
                "attributes": {"model": {"string": "a100"}, "index": {"int": 1}, "mig": {"bool": true}},
                "capacity": {"memory": {"value": "80Gi"}},
            })
        });
        assert_eq!(
            json!(spec),
            json!({
                "driver": "gpu.example.com", "nodeName": "gpu-0",
                "pool": {"name": "gpu-0", "generation": 1, "resourceSliceCount": 1},
                "devices": wanted,
            })
        );
        assert_eq!(published[0].owner_references()[0].name, "gpu-0");

        let fewer = "[{driver: gpu.example.com, count: 1}]";
        lab.machines.apply_pools(pools_with_devices(fewer)).await;
        let changed = list().await;
        assert_eq!(changed[0].spec.pool.generation, 2);
        assert_eq!(changed[0].spec.devices.as_ref().unwrap().len(), 1);

        // A deleted slice is published again.
        let name = changed[0].name_any();
        slices.delete(&name, &Default::default()).await.unwrap();
        lab.clock.sleep(Duration::from_secs(2)).await;
        assert_eq!(list().await.len(), 2);

        lab.machines.apply_pools(pools_with_devices("[]")).await;
        assert!(list().await.is_empty());
    });
}

#[test]
fn invalid_devices_are_rejected() {
    let refusal = |devices: &str| {
        let text = format!(
            "- name: gpu\n  count: 2\n  resources: {{cpu: 6, memory: 16Gi}}\n  devices: [{devices}]\n"
        );
        NodePools::parse(&text).unwrap_err().to_string()
    };
    for (devices, error) in [
        (
            "{driver: GPU, count: 1}",
            "4:22: \"GPU\" is not the name of a driver, such as gpu.example.com",
        ),
        (
            "{driver: a.b, count: 129}",
            "4:34: a driver has 1 to 128 devices on a node",
        ),
        (
            "{driver: a.b, count: 1, capacity: {memory: 80G1}}",
            "4:56: memory: \"80G1\" is not a capacity, such as memory: 80Gi",
        ),
    ] {
        assert_eq!(refusal(devices), error);
    }
}

#[test]
fn nodes_are_created_updated_and_deleted_with_their_pools() {
    with_cluster(POOLS, |lab| async move {
        assert_eq!(names(&lab).await, ["gpu-0", "gpu-1"]);
        let node = lab.nodes.get("gpu-0").await.unwrap();
        let status = node.status.unwrap();
        assert_eq!(status.allocatable.unwrap()["nvidia.com/gpu"].0, "8");
        let ready = status.conditions.unwrap();
        assert!(
            ready
                .iter()
                .any(|c| c.type_ == "Ready" && c.status == "True")
        );

        let more = "- name: gpu\n  count: 1\n  resources: {cpu: 6, memory: 16Gi}\n  labels: {tier: x}\n  taints: [{key: spot, effect: NoSchedule}]\n- name: cpu\n  count: 2\n  resources: {cpu: 2, memory: 4Gi}\n";
        lab.machines
            .apply_pools(NodePools::parse(more).unwrap())
            .await;
        assert_eq!(names(&lab).await, ["cpu-0", "cpu-1", "gpu-0"]);
        let node = lab.nodes.get("gpu-0").await.unwrap();
        assert_eq!(node.labels()["tier"], "x");
        assert_eq!(node.spec.unwrap().taints.unwrap()[0].key, "spot");
        let allocatable = node.status.unwrap().allocatable.unwrap();
        assert_eq!(allocatable["cpu"].0, "6");
        assert!(!allocatable.contains_key("nvidia.com/gpu"));

        let least = "- name: gpu\n  count: 1\n  resources: {cpu: 6, memory: 16Gi}\n";
        lab.machines
            .apply_pools(NodePools::parse(least).unwrap())
            .await;
        let node = lab.nodes.get("gpu-0").await.unwrap();
        assert!(!node.labels().contains_key("tier"), "removed with the pool");
        assert_eq!(node.spec.unwrap().taints, None);
    });
}

#[test]
fn manual_node_changes_and_other_nodes_are_kept() {
    with_cluster(POOLS, |lab| async move {
        let params = PatchParams::default();
        let cordon = json!({"spec": {"unschedulable": true, "taints": [{"key": "mine", "effect": "NoExecute"}]}, "metadata": {"labels": {"mine": "1"}}});
        lab.nodes
            .patch("gpu-0", &params, &Patch::Merge(&cordon))
            .await
            .unwrap();
        let foreign: Node =
            serde_json::from_value(json!({"metadata": {"name": "other-0"}})).unwrap();
        lab.nodes
            .create(&Default::default(), &foreign)
            .await
            .unwrap();
        let pools = "- name: gpu\n  count: 1\n  resources: {cpu: 5, memory: 16Gi}\n- name: other\n  count: 1\n  resources: {cpu: 5, memory: 16Gi}\n";
        lab.machines
            .apply_pools(NodePools::parse(pools).unwrap())
            .await;
        let node = lab.nodes.get("gpu-0").await.unwrap();
        assert_eq!(node.labels()["mine"], "1");
        let spec = node.spec.unwrap();
        assert_eq!(spec.unschedulable, Some(true));
        assert_eq!(spec.taints.unwrap()[0].key, "mine");
        let other = lab.nodes.get("other-0").await.unwrap();
        assert!(
            other.status.unwrap().allocatable.is_none(),
            "a node of others"
        );
        lab.machines.apply_pools(NodePools::default()).await;
        assert_eq!(names(&lab).await, ["other-0"]);
    });
}

/// Deletes a node, and waits longer than any retry.
async fn delete(lab: &TestCluster, name: &str) {
    let params = DeleteParams::default();
    lab.nodes.delete(name, &params).await.unwrap();
    lab.clock.sleep(Duration::from_secs(120)).await;
}

fn deleted(lab: &TestCluster) -> Vec<String> {
    let deleted = lab.machines.deleted_nodes().unwrap().borrow().clone();
    deleted.iter().cloned().collect()
}

#[test]
fn a_deleted_node_stays_deleted_until_its_pools_are_applied() {
    with_cluster(POOLS, |lab| async move {
        delete(&lab, "gpu-1").await;
        assert_eq!(names(&lab).await, ["gpu-0"]);
        assert_eq!(deleted(&lab), ["gpu-1"]);
        // A pause, while another lab leads, changes nothing.
        lab.machines.set_paused(true);
        lab.machines.set_paused(false);
        lab.clock.sleep(Duration::from_secs(120)).await;
        assert_eq!(names(&lab).await, ["gpu-0"]);
        let pools = NodePools::clone(&lab.machines.pools());
        lab.machines.apply_pools(pools.clone()).await;
        assert_eq!(names(&lab).await, ["gpu-0", "gpu-1"]);
        assert!(deleted(&lab).is_empty());
        // Nodes that their pool loses are not those that others delete.
        lab.machines.apply_pools(NodePools::default()).await;
        lab.machines.apply_pools(pools).await;
        lab.clock.sleep(Duration::from_secs(120)).await;
        assert_eq!(names(&lab).await, ["gpu-0", "gpu-1"]);
        assert!(deleted(&lab).is_empty());
    });
}

#[test]
fn a_deleted_node_runs_pods_when_it_is_created_again() {
    let on = |pod: &str| self::pod(pod, "sleep infinity", json!({"nodeName": "gpu-0"}));
    with_cluster(POOLS, |lab| async move {
        let mut saved = lab.nodes.get("gpu-0").await.unwrap();
        delete(&lab, "gpu-0").await;
        saved.metadata.resource_version = None;
        saved.metadata.uid = None;
        let params = PostParams::default();
        let created = lab.nodes.create(&params, &saved).await.unwrap();
        lab.create(&on("saved")).await;
        lab.wait_for_phase("saved", "Running").await;
        lab.clock.sleep(Duration::from_secs(120)).await;
        assert_eq!(lab.nodes.get("gpu-0").await.unwrap().uid(), created.uid());
        assert!(deleted(&lab).is_empty());

        // Also one of which only the name is known.
        delete(&lab, "gpu-0").await;
        let bare: Node = serde_json::from_value(json!({"metadata": {"name": "gpu-0"}})).unwrap();
        lab.nodes.create(&params, &bare).await.unwrap();
        lab.create(&on("bare")).await;
        lab.wait_for_phase("bare", "Running").await;
        lab.clock.sleep(Duration::from_secs(120)).await;
        let node = lab.nodes.get("gpu-0").await.unwrap();
        assert_eq!(node.labels()["kueue-lab.dev/pool"], "gpu");
        let (old, new) = (saved.spec.unwrap(), node.spec.unwrap());
        assert_eq!(new.pod_cidr, old.pod_cidr);
        assert_eq!(new.provider_id, old.provider_id);
        let (old, new) = (saved.status.unwrap(), node.status.unwrap());
        assert_eq!(new.allocatable, old.allocatable);
        assert_eq!(new.addresses, old.addresses);
        assert!(deleted(&lab).is_empty());
    });
}

#[test]
fn an_annotation_stops_the_kubelet_of_a_node() {
    with_cluster(POOLS, |lab| async move {
        let params = PatchParams::default();
        let set = async |value: Option<&str>| {
            let patch = json!({"metadata": {"annotations": {"kueue-lab.dev/kubelet": value}}});
            let patch = Patch::Merge(&patch);
            lab.nodes.patch("gpu-0", &params, &patch).await.unwrap();
        };
        let ready = async || {
            let node = lab.nodes.get("gpu-0").await.unwrap();
            let conditions = node.status.unwrap().conditions.unwrap();
            let ready = conditions.into_iter().find(|c| c.type_ == "Ready");
            ready.unwrap().status
        };
        set(Some("stopped")).await;
        lab.clock.sleep(Duration::from_secs(90)).await;
        assert_eq!(ready().await, "Unknown");
        let options = json!({"nodeName": "gpu-0"});
        lab.create(&pod("p", "sleep infinity", options)).await;
        lab.clock.sleep(Duration::from_secs(60)).await;
        assert_eq!(phase_of(&lab.pods.get("p").await.unwrap()), "Pending");
        set(None).await;
        lab.wait_for_phase("p", "Running").await;
        assert_eq!(ready().await, "True");
    });
}

#[test]
fn heartbeats_stop_when_a_node_fails_and_resume_when_it_recovers() {
    with_cluster(POOLS, |lab| async move {
        let leases: Api<Lease> = Api::namespaced(lab.client.clone(), "kube-node-lease");
        let renewed = async |name: &str| {
            let lease = leases.get(name).await.unwrap();
            lease.spec.unwrap().renew_time.unwrap().0
        };
        lab.clock.sleep(Duration::from_secs(1)).await;
        let first = renewed("gpu-0").await;
        lab.clock.sleep(Duration::from_secs(60)).await;
        let later = renewed("gpu-0").await;
        assert!(later.duration_since(first).as_secs() >= 50);
        assert!(lab.machines.fail_node("gpu-0"));
        assert!(!lab.machines.fail_node("unknown"));
        lab.clock.sleep(Duration::from_secs(60)).await;
        assert!(renewed("gpu-0").await.duration_since(later).as_secs() <= 10);
        assert!(renewed("gpu-1").await.duration_since(later).as_secs() >= 40);
        lab.machines.recover_node("gpu-0");
        lab.clock.sleep(Duration::from_secs(20)).await;
        assert!(renewed("gpu-0").await.duration_since(later).as_secs() >= 60);
    });
}

#[test]
fn host_network_pods_have_the_address_of_their_node() {
    let pools = "- {name: host, count: 1, address: 127.0.0.1, resources: {cpu: 4, memory: 8Gi}}\n";
    with_cluster(pools, |lab| async move {
        for (name, host_network) in [("process", true), ("container", false)] {
            let pod = json!({
                "metadata": {"name": name},
                "spec": {
                    "hostNetwork": host_network,
                    "containers": [{"name": "c", "image": "manager", "command": ["sleep", "600"]}],
                },
            });
            let pod = serde_json::from_value(pod).unwrap();
            lab.pods.create(&PostParams::default(), &pod).await.unwrap();
        }
        lab.clock.sleep(Duration::from_secs(10)).await;
        let ip = async |name: &str| lab.pods.get(name).await.unwrap().status.unwrap().pod_ip;
        assert_eq!(ip("process").await.as_deref(), Some("127.0.0.1"));
        assert!(
            ip("container")
                .await
                .is_some_and(|ip| ip.starts_with("10."))
        );
    });
}

#[test]
fn named_nodes_have_the_provider_id_and_the_images_of_their_pool() {
    let pool = |images: &str| {
        format!(
            "- name: kind\n  names: [kind-worker, kind-worker2]\n  count: 3\n  providerID: kind://docker/kind/$(NODE_NAME)\n  zones: [a, b]\n  images: [{images}]\n  resources: {{cpu: 4, memory: 8Gi}}\n"
        )
    };
    let pause = "{names: [\"registry.k8s.io/pause:3.10\"], sizeBytes: 320368}";
    with_cluster(&pool(pause), |lab| async move {
        assert_eq!(names(&lab).await, ["kind-2", "kind-worker", "kind-worker2"]);
        let node = lab.nodes.get("kind-worker2").await.unwrap();
        assert_eq!(node.labels()["kubernetes.io/hostname"], "kind-worker2");
        assert_eq!(node.labels()["topology.kubernetes.io/zone"], "b");
        let id = node.spec.unwrap().provider_id;
        assert_eq!(id.as_deref(), Some("kind://docker/kind/kind-worker2"));
        let images = json!(node.status.unwrap().images);
        let expected = json!([{"names": ["registry.k8s.io/pause:3.10"], "sizeBytes": 320_368}]);
        assert_eq!(images, expected);

        let busybox = NodePools::parse(&pool("{names: [busybox]}")).unwrap();
        lab.machines.apply_pools(busybox).await;
        let node = lab.nodes.get("kind-worker").await.unwrap();
        let images = json!(node.status.unwrap().images);
        assert_eq!(images, json!([{"names": ["busybox"]}]));
    });
}
