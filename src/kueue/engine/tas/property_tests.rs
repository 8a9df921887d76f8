//! Properties of every placement, for arbitrary requests and nodes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::resolved_topology_request::layers;
use super::{FindOptions, TasAssignmentsResult, TasCache, TasPodSetRequests, encode};
use crate::feature_gates::Gates;
use crate::resources::Requests;
use crate::topology_assignment::decode;
use crate::workload::{TasUsage, TopologyDomainRequests};
use kueue_lab_api::v1beta2::{HOSTNAME_LABEL, PodSet, PodSetTopologyRequest};

const FLAVOR: &str = "tas";
const LEVELS: [&str; 3] = ["block", "rack", HOSTNAME_LABEL];

/// A node: block, rack, allocatable cpu and pods, and whether it is tainted.
type NodeDraft = (u8, u8, i64, i64, bool);

/// Nodes, the lowest level (2: hosts, 1: racks) and existing usage: node, pods of 1 cpu.
#[derive(Clone, Debug)]
struct ClusterFixture {
    nodes: Vec<NodeDraft>,
    lowest: usize,
    placed: Vec<(usize, i32)>,
}

#[derive(Clone, Debug)]
struct RequestFixture {
    request: Option<PodSetTopologyRequest>,
    count: i32,
    cpu: i64,
    leader: Option<i64>,
}

fn clusters() -> impl Strategy<Value = ClusterFixture> {
    let node = (0u8..3, 0u8..3, 0i64..9, 1i64..12, prop::bool::weighted(0.1));
    (
        prop::collection::vec(node, 1..14),
        1usize..3,
        prop::collection::vec((0usize..14, 1i32..4), 0..4),
    )
        .prop_map(|(nodes, lowest, placed)| ClusterFixture {
            nodes,
            lowest,
            placed,
        })
}

fn requested(lowest: usize) -> impl Strategy<Value = RequestFixture> {
    let slices = prop::option::of((0..=lowest, 1i32..4));
    (
        0u8..5,
        0..=lowest,
        slices,
        1i32..10,
        1i64..4,
        prop::option::of(1i64..5),
    )
        .prop_map(|(kind, level, slices, count, cpu, leader)| {
            let mut request = PodSetTopologyRequest::default();
            match kind {
                0 | 1 => request.required = Some(LEVELS[level].into()),
                2 | 3 => request.preferred = Some(LEVELS[level].into()),
                _ => request.unconstrained = Some(true),
            }
            let mut count = count;
            if let Some((slice_level, size)) = slices.filter(|(l, _)| *l >= level && kind < 4) {
                request.pod_set_slice_required_topology = Some(LEVELS[slice_level].into());
                request.pod_set_slice_size = Some(size);
                count *= size;
            }
            RequestFixture {
                request: Some(request),
                count,
                cpu,
                leader,
            }
        })
}

fn cases() -> impl Strategy<Value = (ClusterFixture, RequestFixture, Gates)> {
    let gates = (any::<bool>(), any::<bool>()).prop_map(|(balanced, mixed)| Gates {
        tas_balanced_placement: balanced,
        tas_profile_mixed: mixed,
        ..Gates::default()
    });
    let cluster = clusters().prop_flat_map(|w| {
        let lowest = w.lowest;
        (Just(w), requested(lowest))
    });
    (cluster, gates).prop_map(|((cluster, requested), gates)| (cluster, requested, gates))
}

impl ClusterFixture {
    fn node(&self, i: usize) -> Value {
        let (block, rack, cpu, pods, tainted) = self.nodes[i];
        let taints = if tainted {
            json!([{"key": "spot", "effect": "NoSchedule"}])
        } else {
            json!([])
        };
        json!({
            "metadata": {"name": format!("n{i}"), "labels": {
                LEVELS[0]: format!("b{block}"), LEVELS[1]: format!("r{rack}"),
                HOSTNAME_LABEL: format!("h{i}"),
            }},
            "spec": {"taints": taints},
            "status": {
                "allocatable": {"cpu": cpu.to_string(), "pods": pods.to_string()},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        })
    }

    fn values(&self, i: usize) -> Vec<String> {
        let (block, rack, ..) = self.nodes[i % self.nodes.len()];
        if self.lowest == 2 {
            vec![format!("h{}", i % self.nodes.len())]
        } else {
            vec![format!("b{block}"), format!("r{rack}")]
        }
    }

    fn usage(&self, (node, count): (usize, i32)) -> Vec<TopologyDomainRequests> {
        vec![TopologyDomainRequests {
            values: self.values(node),
            single_pod_requests: [("cpu".into(), 1000)].into_iter().collect(),
            count,
        }]
    }

    fn cache(&self, gates: &Gates, order: impl Iterator<Item = usize>) -> TasCache {
        let mut cache = TasCache::new(gates);
        let levels: Vec<Value> = LEVELS[..=self.lowest]
            .iter()
            .map(|l| json!({ "nodeLabel": l }))
            .collect();
        let topology = json!({"metadata": {"name": "t"}, "spec": {"levels": levels}});
        cache.upsert_topology(&serde_json::from_value(topology).unwrap());
        let flavor = json!({"metadata": {"name": FLAVOR}, "spec": {"topologyName": "t"}});
        cache.upsert_flavor(&serde_json::from_value(flavor).unwrap());
        for i in order {
            cache.upsert_node(&serde_json::from_value(self.node(i)).unwrap());
        }
        for (i, &placed) in self.placed.iter().enumerate() {
            cache.add_usage(FLAVOR, &format!("wl{i}"), &self.usage(placed));
        }
        cache
    }
}

fn find(cache: &mut TasCache, requested: &RequestFixture) -> TasAssignmentsResult {
    let pod_set = |name: &str| PodSet {
        name: name.into(),
        topology_request: requested.request.clone(),
        ..Default::default()
    };
    let (workers, leader) = (pod_set("workers"), pod_set("leader"));
    let request = |pod_set, cpu: i64, count| TasPodSetRequests {
        pod_set,
        pod_set_updates: Vec::new(),
        single_pod_requests: [("cpu".into(), cpu * 1000)].into_iter().collect(),
        count,
        flavor: FLAVOR.into(),
        implied: false,
        pod_set_group_name: Some("group"),
        previous_assignment: None,
    };
    let mut requests = vec![request(&workers, requested.cpu, requested.count)];
    requests.extend(requested.leader.map(|cpu| request(&leader, cpu, 1)));
    let snapshots = cache.snapshots();
    snapshots.find_topology_assignments(&[(FLAVOR.into(), requests)].into(), FindOptions::default())
}

/// The remaining capacity of each leaf, by its assignment values.
fn remaining(cache: &mut TasCache) -> BTreeMap<Vec<String>, Requests> {
    let snapshot = cache.snapshots().get(FLAVOR).unwrap();
    let from = snapshot.levels().len() - 1;
    let from = if snapshot.is_lowest_level_node() {
        from
    } else {
        0
    };
    snapshot
        .leaves()
        .map(|leaf| {
            let mut left = leaf.free;
            left.sub(&leaf.usage);
            (leaf.values[from..].to_vec(), left)
        })
        .collect()
}

fn usage_of(result: &TasAssignmentsResult, requested: &RequestFixture) -> TasUsage {
    let mut usage = Vec::new();
    for (name, found) in &result.0 {
        let cpu = if name == "leader" {
            requested.leader.unwrap_or(0)
        } else {
            requested.cpu
        };
        for domain in &found.topology_assignment.as_ref().unwrap().domains {
            usage.push(TopologyDomainRequests {
                values: domain.values.clone(),
                single_pod_requests: [("cpu".into(), cpu * 1000)].into_iter().collect(),
                count: domain.count,
            });
        }
    }
    [(FLAVOR.into(), usage)].into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_leaf_is_overcommitted_and_all_pods_are_assigned((cluster, requested, gates) in cases()) {
        let mut cache = cluster.cache(&gates, 0..cluster.nodes.len());
        let before = remaining(&mut cache);
        let result = find(&mut cache, &requested);
        prop_assume!(result.failure().is_none());
        let usage = usage_of(&result, &requested);
        cache.add_usage(FLAVOR, "new", &usage[FLAVOR]);
        for (values, left) in remaining(&mut cache) {
            for (resource, amount) in left.iter() {
                let had = before[&values].get(resource);
                prop_assert!(amount >= 0 || amount == had, "{values:?} {resource}: {amount}");
            }
        }
        for (name, found) in &result.0 {
            let assignment = found.topology_assignment.as_ref().unwrap();
            let wanted = if name == "leader" { 1 } else { requested.count };
            prop_assert_eq!(super::count_pods(assignment), wanted);
            prop_assert!(assignment.domains.iter().all(|d| d.count > 0));
            let mut values: Vec<_> = assignment.domains.iter().map(|d| &d.values).collect();
            values.dedup();
            prop_assert_eq!(values.len(), assignment.domains.len());
            prop_assert_eq!(&decode(&encode(assignment, true)), assignment);
        }
    }

    #[test]
    fn required_levels_and_slices_are_respected((cluster, requested, gates) in cases()) {
        let mut cache = cluster.cache(&gates, 0..cluster.nodes.len());
        let result = find(&mut cache, &requested);
        prop_assume!(result.failure().is_none());
        let snapshot = cache.snapshots().get(FLAVOR).unwrap();
        let full: BTreeMap<String, Vec<String>> = snapshot
            .leaves()
            .map(|l| (l.values.last().unwrap().clone(), l.values))
            .collect();
        let workers = result.0["workers"].topology_assignment.as_ref().unwrap();
        let full_values = |values: &[String]| {
            if cluster.lowest == 2 { full[&values[0]].clone() } else { values.to_vec() }
        };
        let level = |name: &str| LEVELS.iter().position(|l| *l == name).unwrap();
        let request = requested.request.as_ref().unwrap();
        if let Some(required) = &request.required {
            let all = result.0.values().flat_map(|r| &r.topology_assignment.as_ref().unwrap().domains);
            let mut domains: Vec<_> = all.map(|d| full_values(&d.values)[..=level(required)].to_vec()).collect();
            domains.sort();
            domains.dedup();
            prop_assert_eq!(domains.len(), 1);
        }
        if let [layer] = layers(Some(request)).as_slice() {
            let mut pods: BTreeMap<Vec<String>, i32> = BTreeMap::new();
            for domain in &workers.domains {
                *pods.entry(full_values(&domain.values)[..=level(&layer.topology)].to_vec()).or_default() += domain.count;
            }
            prop_assert!(pods.values().all(|count| count % layer.size == 0), "{pods:?}");
        }
    }

    #[test]
    fn the_order_of_nodes_does_not_matter((cluster, requested, gates) in cases(), by in 1usize..13) {
        let n = cluster.nodes.len();
        let in_order = find(&mut cluster.cache(&gates, 0..n), &requested);
        let rotated = find(&mut cluster.cache(&gates, (0..n).map(|i| (i + by) % n)), &requested);
        let back = find(&mut cluster.cache(&gates, (0..n).rev()), &requested);
        prop_assert_eq!(&in_order, &rotated);
        prop_assert_eq!(&in_order, &back);
    }

    #[test]
    fn searching_has_no_side_effects((cluster, requested, gates) in cases()) {
        let mut cache = cluster.cache(&gates, 0..cluster.nodes.len());
        let first = find(&mut cache, &requested);
        prop_assert_eq!(&first, &find(&mut cache, &requested));
        if first.failure().is_none() {
            let before = remaining(&mut cache);
            let usage = usage_of(&first, &requested);
            let snapshots = cache.snapshots();
            let mark = snapshots.checkpoint();
            snapshots.add_usage(&usage);
            let inner = snapshots.checkpoint();
            snapshots.remove_usage(&usage);
            snapshots.rollback(&inner);
            snapshots.rollback(&mark);
            prop_assert_eq!(before, remaining(&mut cache));
        }
    }

    /// After any sequence of events the capacity equals that of a cache with the final objects
    /// only.
    #[test]
    fn incremental_updates_equal_a_rebuild(
        (cluster, requested, gates) in cases(),
        events in prop::collection::vec((0u8..8, 0usize..14, 0i64..6), 0..20),
    ) {
        let n = cluster.nodes.len();
        let mut cluster = cluster;
        cluster.placed.clear();
        let mut cache = cluster.cache(&gates, 0..n);
        let mut deleted = vec![false; n];
        let mut placed: BTreeMap<usize, (usize, i32)> = BTreeMap::new();
        let mut pods: BTreeMap<usize, Value> = BTreeMap::new();
        for (kind, i, amount) in events {
            let i = i % n;
            match kind {
                0 => { deleted[i] = true; cache.delete_node(&format!("n{i}")); }
                1 | 2 => {
                    deleted[i] = false;
                    if kind == 1 { cluster.nodes[i].2 = amount } else { cluster.nodes[i].1 = amount as u8 }
                    cache.upsert_node(&serde_json::from_value(cluster.node(i)).unwrap());
                }
                3 | 4 => {
                    placed.insert(i, (i, amount as i32));
                    cache.add_usage(FLAVOR, &format!("wl{i}"), &cluster.usage((i, amount as i32)));
                }
                5 => { placed.remove(&i); cache.remove_usage(FLAVOR, &format!("wl{i}")); }
                6 => {
                    let pod = json!({
                        "metadata": {"namespace": "ns", "name": format!("p{i}")},
                        "spec": {"nodeName": format!("n{}", amount as usize % n), "containers": [
                            {"name": "c", "resources": {"requests": {"cpu": amount.to_string()}}}]},
                    });
                    cache.upsert_pod(&serde_json::from_value(pod.clone()).unwrap());
                    pods.insert(i, pod);
                }
                _ => { pods.remove(&i); cache.delete_pod("ns", &format!("p{i}")); }
            }
            // In-place updates require an existing snapshot.
            cache.snapshots();
            if kind == 3 || kind == 4 {
                // The domain is that of the node at the time of the assignment.
                cluster.placed.push((i, amount as i32));
            }
        }
        prop_assume!(cluster.lowest == 2);
        let mut rebuilt = ClusterFixture { placed: Vec::new(), ..cluster.clone() }
            .cache(&gates, (0..n).filter(|i| !deleted[*i]));
        for (key, &placement) in &placed {
            rebuilt.add_usage(FLAVOR, &format!("wl{key}"), &cluster.usage(placement));
        }
        for pod in pods.values() {
            rebuilt.upsert_pod(&serde_json::from_value(pod.clone()).unwrap());
        }
        let nonzero = |cache: &mut TasCache| -> BTreeMap<Vec<String>, BTreeMap<&'static str, i64>> {
            let left = remaining(cache).into_iter();
            left.map(|(values, left)| {
                let amounts = left.iter().filter(|(_, a)| *a != 0);
                (values, amounts.map(|(r, a)| (r.as_str(), a)).collect())
            })
            .collect()
        };
        prop_assert_eq!(nonzero(&mut cache), nonzero(&mut rebuilt));
        prop_assert_eq!(find(&mut cache, &requested), find(&mut rebuilt, &requested));
    }

    /// No object content makes the search panic.
    #[test]
    fn arbitrary_input_does_not_panic(
        levels in prop::collection::vec("(block|rack|kubernetes.io/hostname)", 0..4),
        quantity in "(1e30|-5|0|1.5m|10Ei|nonsense|4)",
        amounts in prop::collection::vec(prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(0), Just(-3), 0i64..5], 1..3),
        count in prop_oneof![Just(i32::MAX), Just(0), Just(-1), 1i32..5],
        size in prop_oneof![Just(i32::MAX), Just(0), Just(-1), 1i32..3],
        level in "(block|rack|kubernetes.io/hostname|)",
        kind in 0u8..4,
        balanced: bool,
    ) {
        let gates = Gates { tas_balanced_placement: balanced, ..Gates::default() };
        let mut cache = TasCache::new(&gates);
        let levels: Vec<Value> = levels.iter().map(|l| json!({ "nodeLabel": l })).collect();
        let topology = json!({"metadata": {"name": "t"}, "spec": {"levels": levels}});
        cache.upsert_topology(&serde_json::from_value(topology).unwrap());
        let flavor = json!({"metadata": {"name": FLAVOR}, "spec": {"topologyName": "t"}});
        cache.upsert_flavor(&serde_json::from_value(flavor).unwrap());
        for i in 0..3 {
            let node = json!({
                "metadata": {"name": format!("n{i}"), "labels": {"block": "", "rack": "r,1", HOSTNAME_LABEL: format!("h{i}")}},
                "status": {
                    "allocatable": {"cpu": &quantity, "pods": &quantity},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            });
            cache.upsert_node(&serde_json::from_value(node).unwrap());
        }
        let single: Requests = amounts.iter().zip(["cpu", "example.com/x"]).map(|(&a, n)| (n.into(), a)).collect();
        let huge = TopologyDomainRequests { values: vec!["h0".into()], single_pod_requests: single.clone(), count };
        cache.add_usage(FLAVOR, "wl", &[huge.clone(), huge]);
        let mut request = PodSetTopologyRequest::default();
        match kind {
            0 => request.required = Some(level.clone()),
            1 => request.preferred = Some(level.clone()),
            2 => request.unconstrained = Some(true),
            _ => {}
        }
        if size < 2 {
            request.pod_set_slice_required_topology = Some(level);
            request.pod_set_slice_size = Some(size);
        }
        let pod_set = PodSet { name: "main".into(), topology_request: Some(request), ..Default::default() };
        let requested = TasPodSetRequests {
            pod_set: &pod_set,
            pod_set_updates: Vec::new(),
            single_pod_requests: single,
            count,
            flavor: FLAVOR.into(),
            implied: kind == 3,
            pod_set_group_name: None,
            previous_assignment: None,
        };
        let requested = [(FLAVOR.into(), vec![requested.clone(), requested])].into();
        for simulate_empty in [false, true] {
            let options = FindOptions { simulate_empty, ..Default::default() };
            cache.snapshots().find_topology_assignments(&requested, options);
        }
    }
}
