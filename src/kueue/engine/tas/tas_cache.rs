//! [`TasCache`]: Topologies, TAS flavors, Nodes, Pods and TAS usage, updated by events.
//!
//! Must not depend on ClusterQueues or pending workloads.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod, Toleration};

use super::TasGates;
use super::domain_usage::TasDomainUsage;
use super::leaf_capacity::PodUsage;
use super::nodes_cache::{NodeChange, NodesCache, node_belongs_to_flavor};
use super::non_tas_usage::{NonTasUsage, PodChange};
use super::tas_flavor_snapshot::TasFlavorSnapshot;
use super::tas_snapshots::{Checkpoint, TasSnapshots};
use super::topology_tree::TopologyTree;
use crate::feature_gates::Gates;
use crate::resources::{FlavorName, Requests};
use crate::workload::TopologyDomainRequests;
use kueue_lab_api::v1beta2::{HOSTNAME_LABEL, ResourceFlavor, Topology};
use kueue_lab_component_helpers::label_selector::Labels;

/// A ResourceFlavor with a topology name.
#[derive(Clone, Debug)]
struct FlavorInformation {
    topology: Arc<str>,
    node_labels: Labels,
    tolerations: Vec<Toleration>,
}

/// A TAS flavor whose Topology exists.
#[derive(Clone, Debug, Default)]
struct TasFlavorCache {
    levels: Vec<String>,
    usage: TasDomainUsage,
    /// The snapshot has to be rebuilt.
    outdated: bool,
}

impl TasFlavorCache {
    fn is_by_host(&self) -> bool {
        self.levels.last().is_some_and(|l| l == HOSTNAME_LABEL)
    }
}

/// Topologies, TAS flavors, Nodes, non-TAS pods, and the TAS usage of workloads that reserve quota.
#[derive(Clone, Debug, Default)]
pub struct TasCache {
    specs: BTreeMap<FlavorName, FlavorInformation>,
    topologies: BTreeMap<Arc<str>, Vec<String>>,
    flavors: BTreeMap<FlavorName, TasFlavorCache>,
    nodes: NodesCache,
    non_tas_usage: NonTasUsage,
    snapshots: TasSnapshots,
}

impl TasCache {
    /// An empty cache.
    pub fn new(gates: &Gates) -> Self {
        TasCache {
            snapshots: TasSnapshots {
                gates: TasGates::of(gates),
                ..Default::default()
            },
            ..Default::default()
        }
    }

    /// Adds or updates a ResourceFlavor; ignores one without topology name. The topology name is
    /// immutable.
    pub fn upsert_flavor(&mut self, flavor: &ResourceFlavor) {
        let Some(topology) = flavor.spec.topology_name.as_deref() else {
            return;
        };
        let name: FlavorName = flavor.metadata.name.as_deref().unwrap_or_default().into();
        let known = self.specs.get(&name).map(|spec| spec.topology.clone());
        let spec = FlavorInformation {
            topology: known.unwrap_or_else(|| topology.into()),
            node_labels: flavor.spec.node_labels.clone(),
            tolerations: flavor.spec.tolerations.clone(),
        };
        if let Some(levels) = self.topologies.get(&spec.topology) {
            let state = self
                .flavors
                .entry(name.clone())
                .or_insert_with(|| TasFlavorCache {
                    levels: levels.clone(),
                    outdated: true,
                    ..Default::default()
                });
            let old = self.specs.get(&name);
            state.outdated |= old.is_none_or(|old| old.node_labels != spec.node_labels);
            if let Some(snapshot) = self.snapshots.flavors.get_mut(&name) {
                snapshot.set_tolerations(&spec.tolerations);
            }
        }
        self.specs.insert(name, spec);
    }

    /// Deletes a ResourceFlavor with its TAS usage.
    pub(crate) fn delete_flavor(&mut self, name: &str) {
        self.specs.remove(name);
        self.drop_flavor(name);
    }

    fn drop_flavor(&mut self, name: &str) {
        let Some(deleted) = self.flavors.remove(name) else {
            return;
        };
        self.snapshots.flavors.remove(name);
        // Its usage no longer affects flavors with common nodes.
        self.outdate_sharing(&deleted);
    }

    fn outdate_sharing(&mut self, changed: &TasFlavorCache) {
        if self.snapshots.gates.overlapping && changed.is_by_host() {
            for flavor in self.flavors.values_mut().filter(|f| f.is_by_host()) {
                flavor.outdated = true;
            }
        }
    }

    /// Adds or updates a Topology. Existing flavors keep their TAS usage.
    pub fn upsert_topology(&mut self, topology: &Topology) {
        let name: Arc<str> = topology.metadata.name.as_deref().unwrap_or_default().into();
        let levels: Vec<String> = topology
            .spec
            .levels
            .iter()
            .map(|l| l.node_label.clone())
            .collect();
        for (flavor, _) in self.specs.iter().filter(|(_, s)| s.topology == name) {
            let state = self
                .flavors
                .entry(flavor.clone())
                .or_insert_with(|| TasFlavorCache {
                    outdated: true,
                    ..Default::default()
                });
            if state.levels != levels {
                state.levels = levels.clone();
                state.outdated = true;
            }
        }
        self.topologies.insert(name, levels);
    }

    /// Deletes a Topology, and the TAS usage of its flavors.
    pub(crate) fn delete_topology(&mut self, name: &str) {
        self.topologies.remove(name);
        let of_topology = |(flavor, spec): (&FlavorName, &FlavorInformation)| {
            (*spec.topology == *name).then(|| flavor.clone())
        };
        let deleted: Vec<FlavorName> = self.specs.iter().filter_map(of_topology).collect();
        for flavor in deleted {
            self.drop_flavor(&flavor);
        }
    }

    /// Whether a flavor has a topology name, and the Topology exists.
    pub(crate) fn has_topology(&self, flavor: &str) -> bool {
        self.flavors.contains_key(flavor)
    }

    /// Adds or updates a Node; true when the change is relevant.
    pub fn upsert_node(&mut self, node: &Node) -> bool {
        let change = self.nodes.upsert(node);
        self.apply_node(change)
    }

    /// Deletes a Node; true when the change is relevant.
    pub fn delete_node(&mut self, name: &str) -> bool {
        let change = self.nodes.remove(name);
        self.apply_node(change)
    }

    fn apply_node(&mut self, change: Option<NodeChange>) -> bool {
        let Some(NodeChange { old, new }) = change else {
            return false;
        };
        for (name, state) in self.flavors.iter_mut().filter(|(_, f)| !f.outdated) {
            let Some(spec) = self.specs.get(name) else {
                continue;
            };
            let is_in =
                |labels: &Labels| node_belongs_to_flavor(labels, &spec.node_labels, &state.levels);
            let old = old.as_ref().filter(|n| is_in(&n.labels));
            let new = new.as_ref().filter(|n| is_in(&n.labels));
            match (old, new, self.snapshots.flavors.get_mut(name)) {
                (None, None, _) => {}
                (Some(old), Some(new), Some(snapshot))
                    if state
                        .levels
                        .iter()
                        .all(|l| old.labels.get(l) == new.labels.get(l)) =>
                {
                    snapshot.replace_node(old, new);
                }
                _ => state.outdated = true,
            }
        }
        true
    }

    /// The flavors of a node with these labels.
    pub(crate) fn flavors_of_node(&self, labels: &Labels) -> Vec<FlavorName> {
        let flavors = self.flavors.iter().filter(|(name, state)| {
            let spec = self.specs.get(*name);
            spec.is_some_and(|s| node_belongs_to_flavor(labels, &s.node_labels, &state.levels))
        });
        flavors.map(|(name, _)| name.clone()).collect()
    }

    /// Adds or updates a Pod: bound, running non-TAS pods use capacity of their node. Returns the
    /// node whose capacity may have been released.
    pub fn upsert_pod(&mut self, pod: &Pod) -> Option<String> {
        let change = self.non_tas_usage.upsert(pod);
        self.apply_pod(&change);
        change.freed().map(str::to_owned)
    }

    /// Deletes a Pod; returns the node whose capacity was released.
    pub fn delete_pod(&mut self, namespace: &str, name: &str) -> Option<String> {
        let change = self.non_tas_usage.remove(namespace, name);
        self.apply_pod(&change);
        change.freed().map(str::to_owned)
    }

    fn apply_pod(&mut self, change: &PodChange) {
        for snapshot in self.snapshots.flavors.values_mut() {
            for (pod, sign) in [(&change.old, -1), (&change.new, 1)] {
                let Some(pod) = pod else { continue };
                if let Some(leaf) = snapshot.tree.leaf_of_node(&pod.node) {
                    let load = PodUsage {
                        requests: &pod.requests,
                        pods: 1,
                    };
                    snapshot.capacity.add_non_tas_usage(leaf, load, sign);
                }
            }
        }
    }

    /// Sets the TAS usage of a workload in a flavor. Ignored when the Topology of the flavor does
    /// not exist.
    pub fn add_usage(&mut self, flavor: &str, workload: &str, usage: &[TopologyDomainRequests]) {
        if let Some(state) = self.flavors.get_mut(flavor) {
            let old = state.usage.add(workload, usage);
            self.charge(flavor, old.as_deref().unwrap_or_default(), -1);
            self.charge(flavor, usage, 1);
        }
    }

    /// Removes the TAS usage of a workload in a flavor, if there is any.
    pub fn remove_usage(&mut self, flavor: &str, workload: &str) {
        if let Some(state) = self.flavors.get_mut(flavor)
            && let Some(old) = state.usage.remove(workload)
        {
            self.charge(flavor, &old, -1);
        }
    }

    fn charge(&mut self, flavor: &str, usage: &[TopologyDomainRequests], sign: i64) {
        if usage.is_empty() {
            return;
        }
        let Some(own) = self.flavors.get(flavor) else {
            return;
        };
        let shared = self.snapshots.gates.overlapping && own.is_by_host();
        for (name, snapshot) in &mut self.snapshots.flavors {
            if !(**name == *flavor || (shared && snapshot.is_lowest_level_node())) {
                continue;
            }
            for domain in usage {
                if let Some(leaf) = snapshot.tree.leaf(&domain.values) {
                    let load = PodUsage {
                        requests: &domain.total_requests(),
                        pods: i64::from(domain.count),
                    };
                    snapshot.capacity.add_tas_usage(leaf, load, sign);
                }
            }
        }
    }

    /// The current snapshots. Simulated changes are rolled back.
    pub fn snapshots(&mut self) -> &mut TasSnapshots {
        self.snapshots.rollback(&Checkpoint::default());
        let inexact = |(name, s): (&FlavorName, &TasFlavorSnapshot)| {
            s.capacity.is_inexact().then(|| name.clone())
        };
        let inexact: Vec<FlavorName> = self.snapshots.iter().filter_map(inexact).collect();
        let outdated = self.flavors.iter().filter(|(_, f)| f.outdated);
        let outdated: Vec<FlavorName> = outdated.map(|(name, _)| name.clone()).collect();
        for name in outdated.into_iter().chain(inexact) {
            self.rebuild(&name);
        }
        &mut self.snapshots
    }

    fn rebuild(&mut self, name: &FlavorName) {
        let (Some(state), Some(spec)) = (self.flavors.get(name), self.specs.get(name)) else {
            return;
        };
        let nodes = || self.nodes.of_flavor(&spec.node_labels, &state.levels);
        let mut snapshot = TasFlavorSnapshot::new(
            name.clone(),
            spec.topology.clone(),
            TopologyTree::new(&state.levels, nodes()),
            spec.tolerations.clone(),
            self.snapshots.gates,
        );
        let TasFlavorSnapshot { tree, capacity, .. } = &mut snapshot;
        for node in nodes() {
            if let Some(leaf) = tree.leaf_of_node(&node.name) {
                capacity.add_node_capacity(leaf, &node.allocatable, 1);
            }
        }
        // Totals include `pods`.
        let all = |requests| PodUsage { requests, pods: 0 };
        for (node, usage) in self.non_tas_usage.by_node() {
            if let Some(leaf) = tree.leaf_of_node(node) {
                capacity.add_non_tas_usage(leaf, all(usage), 1);
            }
        }
        let shared = self.snapshots.gates.overlapping && state.is_by_host();
        for (other, flavor) in &self.flavors {
            if other != name && !(shared && flavor.is_by_host()) {
                continue;
            }
            for (domain, usage) in flavor.usage.domains() {
                let usage: &Requests = usage;
                if let Some(leaf) = tree.leaf_of_id(domain) {
                    capacity.add_tas_usage(leaf, all(usage), 1);
                }
            }
        }
        self.snapshots.flavors.insert(name.clone(), snapshot);
        if let Some(state) = self.flavors.get_mut(name) {
            state.outdated = false;
        }
    }
}
