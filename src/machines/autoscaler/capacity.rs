//! Whether pods fit on the nodes there are, beside what is promised to others, or would on more.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use crate::nodes::{NodePool, node_name, template_node};
use crate::scheduler::Simulation;
use kueue_lab_api::provisioning_request::{
    BOOKING_EXPIRED, CONSUME_ANNOTATION, DEPRECATED_CONSUME_ANNOTATION, PROVISIONED,
    ProvisioningRequest,
};
use kueue_lab_runtime::ObjectKey;

/// Whether the pods of a request fit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CapacityResult {
    /// On the nodes there are.
    Found,
    /// When these pools have this many nodes; none of them where those on their way are enough.
    ScaleUp(Vec<(String, u32)>),
    /// Nowhere.
    NotFound,
    /// Nobody knows: this template is missing.
    TemplateNotFound(String),
}

/// What is promised to requests before this one.
pub(super) struct BookedCapacity<'a> {
    pub(super) request: &'a ObjectKey,
    pub(super) others: &'a [Arc<ProvisioningRequest>],
}

impl BookedCapacity<'_> {
    /// How many pods are promised room to others of the namespace and have not come yet. They are
    /// taken to be like those asked for, which they are where a queue hands out one kind of work.
    fn booked_pods(&self, pods: &[Arc<Pod>]) -> usize {
        let holds = |r: &ProvisioningRequest, kind: &str| {
            let mut all = r.status.conditions.iter();
            all.any(|c| c.type_ == kind && c.status == "True")
        };
        let booked = self.others.iter().filter(|r| {
            ObjectKey::of(&***r) != *self.request
                && holds(r, PROVISIONED)
                && !holds(r, BOOKING_EXPIRED)
        });
        let mut outstanding = 0;
        for request in booked {
            let key = ObjectKey::of(&**request);
            let promised: usize = request
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
            let came = pods.iter().filter(consumes).count();
            outstanding += promised.saturating_sub(came);
        }
        outstanding
    }
}

/// The nodes of pools that were made a moment ago: those that nobody has seen yet, and those that claim
/// to be Ready and wait for the cluster's control plane to take off the taint it put on them.
fn upcoming_nodes<'a>(
    nodes: &[Arc<Node>],
    pools: &'a [(NodePool, u32)],
) -> Vec<(&'a NodePool, u32)> {
    let known: BTreeMap<String, &Arc<Node>> = nodes.iter().map(|n| (n.name_any(), n)).collect();
    let is_coming = |pool: &NodePool, index: u32| {
        let node = known.get(&node_name(&pool.name, index));
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

/// Looks whether the wanted pods fit; `pools` may grow, from their size to their bound.
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
    let try_with = |coming: &[(&NodePool, u32)], more: &BTreeMap<String, u32>| {
        let mut simulation = Simulation::new(nodes, pods);
        for (pool, index) in coming {
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
    let coming = upcoming_nodes(nodes, pools);
    if !coming.is_empty() {
        missing = try_with(&coming, &more);
        if missing == 0 {
            return CapacityResult::ScaleUp(Vec::new());
        }
    }
    // One node after another in the first pool where it helps.
    for (pool, size) in pools {
        let max = pool.autoscale.map_or(*size, |a| a.max);
        for add in 1..=max.saturating_sub(*size) {
            let mut larger = more.clone();
            larger.insert(pool.name.clone(), add);
            let still = try_with(&coming, &larger);
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
                let grown = more.iter().filter_map(|(name, add)| {
                    size(name).map(|(_, size)| (name.clone(), size + add))
                });
                return CapacityResult::ScaleUp(grown.collect());
            }
        }
    }
    CapacityResult::NotFound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::NodePools;
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

    fn ask(count: usize, pools: &[(NodePool, u32)]) -> CapacityResult {
        ask_with(count, pools, &nodes_of(pools))
    }

    fn ask_with(count: usize, pools: &[(NodePool, u32)], nodes: &[Arc<Node>]) -> CapacityResult {
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
        assert_eq!(ask(2, &[pool(2, 5)]), CapacityResult::Found);
        assert_eq!(
            ask(4, &[pool(2, 5)]),
            CapacityResult::ScaleUp(vec![("gpu".into(), 4)])
        );
        assert_eq!(ask(6, &[pool(2, 5)]), CapacityResult::NotFound);
        assert_eq!(ask(1, &[]), CapacityResult::NotFound);
    }

    #[test]
    fn nodes_on_their_way_are_waited_for() {
        let pools = [pool(3, 5)];
        let mut nodes = nodes_of(&pools);
        // Nobody has seen the last one yet, and the control plane has not let pods on the one before.
        nodes.pop();
        let taint = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
        let tainted = |node: &mut Arc<Node>| {
            let spec = Arc::make_mut(node).spec.as_mut().unwrap();
            spec.taints = serde_json::from_value(taint.clone()).unwrap();
        };
        tainted(&mut nodes[1]);
        assert_eq!(ask_with(1, &pools, &nodes), CapacityResult::Found);
        assert_eq!(
            ask_with(3, &pools, &nodes),
            CapacityResult::ScaleUp(Vec::new())
        );
        let four = CapacityResult::ScaleUp(vec![("gpu".into(), 4)]);
        assert_eq!(ask_with(4, &pools, &nodes), four);
        // Nobody knows when one that failed comes back.
        let status = Arc::make_mut(&mut nodes[1]).status.as_mut().unwrap();
        status.conditions.iter_mut().flatten().for_each(|c| {
            if c.type_ == "Ready" {
                c.status = "Unknown".into();
            }
        });
        assert_eq!(ask_with(3, &pools, &nodes), four);
    }
}
