//! Topology-aware scheduling on 5,000 nodes: `cargo bench --bench tas`.

use divan::{Bencher, black_box};
use kueue_lab_api::v1beta2::{PodSet, PodSetTopologyRequest};
use kueue_lab_engine::Gates;
use kueue_lab_engine::tas::{
    FindOptions, TasCache, TasPodSetRequests, TasSnapshots, WorkloadTasRequests, encode,
};
use kueue_lab_engine::workload::TopologyDomainRequests;
use serde_json::{Value, json};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

const NODES: usize = 5_000;
const FLAVOR: &str = "gpu";
const BLOCK: &str = "cloud.provider.com/topology-block";
const RACK: &str = "cloud.provider.com/topology-rack";
const HOST: &str = "kubernetes.io/hostname";

fn node(i: usize, cpu: u32) -> k8s_openapi::api::core::v1::Node {
    let (rack, block) = (i / 16, i / 256);
    let object = json!({
        "metadata": {"name": format!("node-{i}"), "labels": {
            BLOCK: format!("block-{block}"), RACK: format!("rack-{rack}"),
            HOST: format!("node-{i}"), "kubernetes.io/arch": "amd64", "pool": "gpu",
        }},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": cpu.to_string(), "memory": "384Gi", "pods": "110",
                "ephemeral-storage": "100Gi", "nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    serde_json::from_value(object).expect("a node")
}

/// 5,000 nodes with a DaemonSet's pod each, and a workload of 4 pods on every second one.
fn cache() -> TasCache {
    let mut cache = TasCache::new(&Gates::default());
    let levels: Vec<Value> = [BLOCK, RACK, HOST]
        .iter()
        .map(|l| json!({ "nodeLabel": l }))
        .collect();
    let topology = json!({"metadata": {"name": "dc"}, "spec": {"levels": levels}});
    cache.upsert_topology(&serde_json::from_value(topology).expect("a topology"));
    let flavor = json!({"metadata": {"name": FLAVOR}, "spec": {
        "topologyName": "dc", "nodeLabels": {"pool": "gpu"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}});
    cache.upsert_flavor(&serde_json::from_value(flavor).expect("a flavor"));
    for i in 0..NODES {
        cache.upsert_node(&node(i, 96));
        let pod = json!({"metadata": {"namespace": "kube-system", "name": format!("ds-{i}")},
            "spec": {"nodeName": format!("node-{i}"), "containers": [
                {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}});
        cache.upsert_pod(&serde_json::from_value(pod).expect("a pod"));
    }
    for i in (0..NODES).step_by(2) {
        cache.add_usage(FLAVOR, &format!("ns/wl-{i}"), &usage(i, 4));
    }
    cache.snapshots();
    cache
}

fn usage(i: usize, count: i32) -> Vec<TopologyDomainRequests> {
    vec![TopologyDomainRequests {
        values: vec![format!("node-{i}")],
        single_pod_requests: pod(),
        count,
    }]
}

fn pod() -> kueue_lab_engine::resources::Requests {
    [
        ("cpu".into(), 8_000),
        ("memory".into(), 32 << 30),
        ("nvidia.com/gpu".into(), 1),
    ]
    .into_iter()
    .collect()
}

fn pod_set(name: &str, request: Value) -> PodSet {
    PodSet {
        name: name.into(),
        topology_request: Some(
            serde_json::from_value::<PodSetTopologyRequest>(request).expect("a request"),
        ),
        ..Default::default()
    }
}

fn tas_requests<'a>(sets: &'a [(PodSet, i32)]) -> WorkloadTasRequests<'a> {
    let each = sets.iter().map(|(pod_set, count)| TasPodSetRequests {
        pod_set,
        pod_set_updates: Vec::new(),
        single_pod_requests: pod(),
        count: *count,
        flavor: FLAVOR.into(),
        implied: false,
        pod_set_group_name: Some("group"),
        previous_assignment: None,
    });
    [(FLAVOR.into(), each.collect())].into()
}

fn find_assignments(snapshots: &mut TasSnapshots, asked: &WorkloadTasRequests<'_>) -> bool {
    let found = snapshots.find_topology_assignments(asked, FindOptions::default());
    black_box(found).failure().is_none()
}

/// A request: its name, the topology request, and whether it fits.
type SearchCase = (&'static str, Vec<(PodSet, i32)>, bool);

fn search_cases() -> Vec<SearchCase> {
    let slices =
        json!({"required": BLOCK, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 32});
    vec![
        (
            "required rack, 64 pods",
            vec![(pod_set("w", json!({"required": RACK})), 64)],
            true,
        ),
        (
            "required rack, too many",
            vec![(pod_set("w", json!({"required": RACK})), 640)],
            false,
        ),
        (
            "preferred rack, 1000 pods",
            vec![(pod_set("w", json!({"preferred": RACK})), 1000)],
            true,
        ),
        (
            "preferred host, 5000 pods",
            vec![(pod_set("w", json!({"preferred": HOST})), 5000)],
            true,
        ),
        (
            "unconstrained, 1 pod",
            vec![(pod_set("w", json!({"unconstrained": true})), 1)],
            true,
        ),
        (
            "unconstrained, 5000 pods",
            vec![(pod_set("w", json!({"unconstrained": true})), 5000)],
            true,
        ),
        (
            "slices of 32 in racks, 512 pods",
            vec![(pod_set("w", slices), 512)],
            true,
        ),
        (
            "leader and 255 workers in a block",
            vec![
                (pod_set("w", json!({"required": BLOCK})), 255),
                (pod_set("l", json!({"required": BLOCK})), 1),
            ],
            true,
        ),
    ]
}

#[divan::bench(args = 0..8)]
fn find(bencher: Bencher<'_, '_>, question: usize) {
    let mut cache = cache();
    let questions = search_cases();
    let (name, sets, fits) = &questions[question];
    let asked = tas_requests(sets);
    let snapshots = cache.snapshots();
    assert_eq!(find_assignments(snapshots, &asked), *fits, "{name}");
    eprint!("[{name}] ");
    bencher.bench_local(|| find_assignments(snapshots, &asked));
}

/// Takes a victim away and searches again, until 200 victims are gone; then puts them back.
#[divan::bench(sample_count = 20)]
fn preemption_of_200_victims(bencher: Bencher<'_, '_>) {
    let mut cache = cache();
    let sets = [(pod_set("w", json!({"required": RACK})), 640)];
    let asked = tas_requests(&sets);
    let snapshots = cache.snapshots();
    bencher.bench_local(|| {
        let mark = snapshots.checkpoint();
        for i in 0..200 {
            snapshots.remove_usage(&[(FLAVOR.into(), usage(i * 2, 4))].into());
            assert!(!find_assignments(snapshots, &asked));
        }
        snapshots.rollback(&mark);
    });
}

#[divan::bench]
fn rebuild_after_a_node_is_gone(bencher: Bencher<'_, '_>) {
    let mut cache = cache();
    let back = node(77, 96);
    bencher.bench_local(|| {
        cache.delete_node("node-77");
        cache.upsert_node(&back);
        black_box(cache.snapshots());
    });
}

#[divan::bench]
fn allocatable_of_a_node_changes(bencher: Bencher<'_, '_>) {
    let mut cache = cache();
    let versions = [node(77, 95), node(77, 96)];
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        cache.upsert_node(&versions[turn % 2]);
        black_box(cache.snapshots());
    });
}

#[divan::bench]
fn heartbeat_of_a_node(bencher: Bencher<'_, '_>) {
    let mut cache = cache();
    let same = node(77, 96);
    bencher.bench_local(|| black_box(cache.upsert_node(&same)));
}

#[divan::bench]
fn admit_and_finish_a_workload(bencher: Bencher<'_, '_>) {
    let mut cache = cache();
    let usage = usage(77, 4);
    bencher.bench_local(|| {
        cache.add_usage(FLAVOR, "ns/new", &usage);
        cache.remove_usage(FLAVOR, "ns/new");
        black_box(cache.snapshots());
    });
}

#[divan::bench]
fn encode_5000_hosts(bencher: Bencher<'_, '_>) {
    let mut cache = cache();
    let sets = [(pod_set("w", json!({"unconstrained": true})), 25_000)];
    let found = cache
        .snapshots()
        .find_topology_assignments(&tas_requests(&sets), FindOptions::default());
    let found = found.0["w"].topology_assignment.clone().expect("room");
    bencher.bench_local(|| black_box(encode(&found, true)));
}
