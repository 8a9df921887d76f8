//! Checks whether pods fit on the existing nodes beside booked capacity, or after a scale-up.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use kueue_lab_api::provisioning_request::{
    BOOKING_EXPIRED, CONSUME_ANNOTATION, DEPRECATED_CONSUME_ANNOTATION, PROVISIONED,
    ProvisioningRequest,
};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_nodes::{NodePool, template_node};
use kueue_lab_scheduler::Simulation;

/// Whether the pods of a request fit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CapacityResult {
    /// They fit on the existing nodes.
    Found,
    /// They fit when these pools have these sizes; empty if upcoming nodes are enough.
    ScaleUp(Vec<(String, u32)>),
    /// They do not fit.
    NotFound,
    /// A PodTemplate is missing.
    TemplateNotFound(String),
}

/// Capacity booked by earlier requests.
pub(super) struct BookedCapacity<'a> {
    pub(super) request: &'a ObjectKey,
    pub(super) others: &'a [Arc<ProvisioningRequest>],
}

impl BookedCapacity<'_> {
    /// The number of pods for which other requests have booked capacity and which do not exist yet.
    /// They are assumed to be like the requested pods.
    fn booked_pods(&self, pods: &[Arc<Pod>]) -> usize {
        let others = self.others.iter();
        let others = others.filter(|r| ObjectKey::of(&***r) != *self.request);
        others.map(|r| outstanding_pods(r, pods)).sum()
    }
}

/// The number of pods of a request that has booked capacity which do not exist yet.
pub(super) fn outstanding_pods(request: &ProvisioningRequest, pods: &[Arc<Pod>]) -> usize {
    if !request.is_condition_true(PROVISIONED) || request.is_condition_true(BOOKING_EXPIRED) {
        return 0;
    }
    let key = ObjectKey::of(request);
    let requested: usize = request
        .spec
        .pod_sets
        .iter()
        .map(|s| usize::try_from(s.count).unwrap_or(0))
        .sum();
    let consumes = |pod: &&Arc<Pod>| {
        let named = [CONSUME_ANNOTATION, DEPRECATED_CONSUME_ANNOTATION]
            .iter()
            .any(|a| pod.annotations().get(*a) == Some(&key.name));
        named && pod.namespace().as_deref() == Some(&key.namespace)
    };
    requested.saturating_sub(pods.iter().filter(consumes).count())
}

/// Upcoming nodes of scaled-up pools: those not in the informer yet, and those that are Ready but
/// still have the control plane's startup taint.
fn upcoming_nodes<'a>(
    nodes: &[Arc<Node>],
    pools: &'a [(NodePool, u32)],
) -> Vec<(&'a NodePool, u32)> {
    let known: BTreeMap<String, &Arc<Node>> = nodes.iter().map(|n| (n.name_any(), n)).collect();
    let is_coming = |pool: &NodePool, index: u32| {
        let node = known.get(&pool.node_name(index));
        node.is_none_or(|node| is_upcoming(node))
    };
    let all = pools.iter().flat_map(|(pool, size)| {
        let indexes = (0..*size).filter(|index| is_coming(pool, *index));
        indexes.map(move |index| (pool, index))
    });
    all.collect()
}

fn is_upcoming(node: &Node) -> bool {
    let mut conditions = node.status.iter().flat_map(|s| &s.conditions).flatten();
    let mut taints = node.spec.iter().flat_map(|s| &s.taints).flatten();
    conditions.any(|c| c.type_ == "Ready" && c.status == "True")
        && taints.any(|t| t.key == "node.kubernetes.io/not-ready")
}

/// Checks whether the pods fit; `pools` may grow from their size to their maximum.
pub(super) fn check_capacity(
    namespace: &str,
    wanted: &[(Pod, usize)],
    nodes: &[Arc<Node>],
    pods: &[Arc<Pod>],
    booked: &BookedCapacity<'_>,
    pools: &[(NodePool, u32)],
) -> CapacityResult {
    let mut wanted: Vec<(Pod, usize)> = wanted.to_vec();
    for (pod, _) in &mut wanted {
        pod.metadata.namespace = Some(namespace.to_string());
    }
    let outstanding = booked.booked_pods(pods);
    let try_with = |upcoming: &[(&NodePool, u32)], more: &BTreeMap<String, u32>| {
        let mut simulation = Simulation::new(nodes, pods);
        for (pool, index) in upcoming {
            simulation.add(template_node(pool, *index, Timestamp::UNIX_EPOCH));
        }
        for (pool, size) in pools {
            let add = more.get(&pool.name).copied().unwrap_or(0);
            for index in *size..*size + add {
                simulation.add(template_node(pool, index, Timestamp::UNIX_EPOCH));
            }
        }
        if let Some((first, _)) = wanted.first() {
            simulation.schedule_pods(first, outstanding);
        }
        wanted
            .iter()
            .map(|(pod, count)| (count - simulation.schedule_pods(pod, *count)) as u64)
            .sum::<u64>()
    };
    let mut more = BTreeMap::new();
    let mut missing = try_with(&[], &more);
    if missing == 0 {
        return CapacityResult::Found;
    }
    let upcoming = upcoming_nodes(nodes, pools);
    if !upcoming.is_empty() {
        missing = try_with(&upcoming, &more);
        if missing == 0 {
            return CapacityResult::ScaleUp(Vec::new());
        }
    }
    // Add one node at a time, in the first pool where it helps.
    for (pool, size) in pools {
        let max = pool.autoscale.map_or(*size, |a| a.max);
        for add in 1..=max.saturating_sub(*size) {
            let mut larger = more.clone();
            larger.insert(pool.name.clone(), add);
            let still = try_with(&upcoming, &larger);
            if still >= missing && add > 1 {
                break;
            }
            if still < missing {
                (more, missing) = (larger, still);
            } else {
                break;
            }
            if missing == 0 {
                let size = |name: &String| pools.iter().find(|(p, _)| p.name == *name);
                let sizes = more.iter().filter_map(|(name, add)| {
                    size(name).map(|(_, size)| (name.clone(), size + add))
                });
                return CapacityResult::ScaleUp(sizes.collect());
            }
        }
    }
    CapacityResult::NotFound
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_nodes::NodePools;
    use serde_json::json;

    fn pool(count: u32, max: u32) -> (NodePool, u32) {
        let text = format!(
            "- name: gpu\n  count: {count}\n  resources: {{cpu: 8, memory: 16Gi, nvidia.com/gpu: 4}}\n  autoscale: {{max: {max}}}\n"
        );
        (NodePools::parse(&text).unwrap().pools.remove(0), count)
    }

    fn nodes_of(pools: &[(NodePool, u32)]) -> Vec<Arc<Node>> {
        let all = pools.iter().flat_map(|(p, n)| (0..*n).map(move |i| (p, i)));
        all.map(|(p, i)| Arc::new(template_node(p, i, Timestamp::UNIX_EPOCH)))
            .collect()
    }

    fn check_pools(count: usize, pools: &[(NodePool, u32)]) -> CapacityResult {
        check_pools_with_nodes(count, pools, &nodes_of(pools))
    }

    fn check_pools_with_nodes(
        count: usize,
        pools: &[(NodePool, u32)],
        nodes: &[Arc<Node>],
    ) -> CapacityResult {
        let pod: Pod = serde_json::from_value(json!({"spec": {"containers": [{"name": "c",
            "resources": {"requests": {"nvidia.com/gpu": "4"}}}]}}))
        .unwrap();
        let key = ObjectKey::new("ns", "r");
        let booked = BookedCapacity {
            request: &key,
            others: &[],
        };
        check_capacity("ns", &[(pod, count)], nodes, &[], &booked, pools)
    }

    #[test]
    fn pools_grow_as_far_as_needed_and_no_further() {
        assert_eq!(check_pools(2, &[pool(2, 5)]), CapacityResult::Found);
        assert_eq!(
            check_pools(4, &[pool(2, 5)]),
            CapacityResult::ScaleUp(vec![("gpu".into(), 4)])
        );
        assert_eq!(check_pools(6, &[pool(2, 5)]), CapacityResult::NotFound);
        assert_eq!(check_pools(1, &[]), CapacityResult::NotFound);
    }

    #[test]
    fn upcoming_nodes_count_as_capacity() {
        let pools = [pool(3, 5)];
        let mut nodes = nodes_of(&pools);
        // The last one is not in the informer yet, and the one before still has its startup taint.
        nodes.pop();
        let taint = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
        let tainted = |node: &mut Arc<Node>| {
            let spec = Arc::make_mut(node).spec.as_mut().unwrap();
            spec.taints = serde_json::from_value(taint.clone()).unwrap();
        };
        tainted(&mut nodes[1]);
        assert_eq!(
            check_pools_with_nodes(1, &pools, &nodes),
            CapacityResult::Found
        );
        assert_eq!(
            check_pools_with_nodes(3, &pools, &nodes),
            CapacityResult::ScaleUp(Vec::new())
        );
        let four = CapacityResult::ScaleUp(vec![("gpu".into(), 4)]);
        assert_eq!(check_pools_with_nodes(4, &pools, &nodes), four);
        // It is unknown when a failed one recovers.
        let status = Arc::make_mut(&mut nodes[1]).status.as_mut().unwrap();
        status.conditions.iter_mut().flatten().for_each(|c| {
            if c.type_ == "Ready" {
                c.status = "Unknown".into();
            }
        });
        assert_eq!(check_pools_with_nodes(3, &pools, &nodes), four);
    }
}
