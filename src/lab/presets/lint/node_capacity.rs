//! Warnings about flavors and quotas that the nodes of the cluster do not have.

use std::collections::{BTreeMap, BTreeSet};

use kueue_lab_api::config::{Configuration, ResourceTransformation};
use kueue_lab_api::list_names;
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::Lint;
use super::queue_fields::{QuotaFields, quotas};
use crate::Manifest;

/// A node, as far as warnings need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabNode {
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The allocatable resources.
    pub allocatable: BTreeMap<String, Quantity>,
}

/// The most resources that a warning names.
const MAX_NAMED: usize = 5;

/// The source of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodesSource {
    /// `nodes.yaml` of the preset.
    Preset,
    /// The lab, as the preset has no `nodes.yaml`.
    Lab,
    /// The cluster or `--nodes`, in place of those of presets.
    Cluster,
}

impl NodesSource {
    /// The owner of the nodes in a message.
    fn owner(self) -> &'static str {
        match self {
            Self::Preset => "nodes.yaml",
            Self::Lab => "the lab, which are used as the preset has no nodes.yaml",
            Self::Cluster => "the cluster",
        }
    }

    /// How to add nodes.
    fn add_nodes(self) -> &'static str {
        match self {
            Self::Preset | Self::Cluster => "add nodes",
            Self::Lab => "add a nodes.yaml with the nodes of the cluster that the queues are for",
        }
    }
}

/// The objects of a preset that name node labels and quotas.
pub(super) struct NodeCapacity<'m> {
    pub(super) queues: &'m [&'m Manifest],
    pub(super) cohorts: &'m [&'m Manifest],
    pub(super) flavors: &'m [&'m Manifest],
    pub(super) topologies: &'m [&'m Manifest],
    pub(super) nodes: &'m [LabNode],
    pub(super) nodes_source: NodesSource,
    pub(super) configuration: &'m Configuration,
}

impl<'m> NodeCapacity<'m> {
    /// The warnings; none if no node is known.
    ///
    /// ClusterQueues with admission checks are left out: a check can add nodes, or run the workloads in
    /// another cluster.
    pub(super) fn lints(&self) -> Vec<Lint> {
        let has_checks = |queue: &Manifest| {
            let strategy = &queue.object["spec"]["admissionChecksStrategy"];
            !strategy.list("/admissionChecks").is_empty()
        };
        let checked = self.queues.iter().filter(|queue| has_checks(queue));
        let checked: BTreeSet<&str> = checked.flat_map(|queue| flavor_names(queue)).collect();
        let used = self.queues.iter().flat_map(|queue| flavor_names(queue));
        let used: BTreeSet<&str> = used.filter(|name| !checked.contains(name)).collect();
        let is_used = |flavor: &&&Manifest| used.contains(flavor.key.name.as_str());
        if self.nodes.is_empty() {
            return Vec::new();
        }
        let (mut lints, mut with_nodes) = (Vec::new(), BTreeSet::new());
        for flavor in self.flavors.iter().filter(is_used) {
            let nodes = self.matching_nodes(flavor);
            match nodes.is_empty() {
                true => lints.push(self.without_nodes(flavor)),
                false => {
                    with_nodes.insert(flavor.key.name.as_str());
                    lints.extend(self.above_capacity(&flavor.key.name, &nodes));
                }
            }
        }
        lints.extend(self.on_no_node(&with_nodes));
        lints
    }

    /// The nodes with the labels of a flavor and of its topology.
    fn matching_nodes(&self, flavor: &Manifest) -> Vec<&'m LabNode> {
        let spec = &flavor.object["spec"];
        let topology = spec.text("/topologyName");
        let of_name = |t: &&&Manifest| t.key.name == topology && !topology.is_empty();
        let levels = self.topologies.iter().find(of_name);
        let levels = levels.map_or(&[][..], |t| t.object.list("/spec/levels"));
        let labels = spec["nodeLabels"].as_object();
        let matches = |node: &&LabNode| {
            let mut labels = labels.into_iter().flatten();
            let has_label = |(key, value): (&String, &Value)| {
                node.labels.get(key).map(String::as_str) == value.as_str()
            };
            let has_level = |level: &Value| node.labels.contains_key(level.text("/nodeLabel"));
            labels.all(has_label) && levels.iter().all(has_level)
        };
        self.nodes.iter().filter(matches).collect()
    }

    /// The resources whose quotas in a flavor exceed the capacity of its nodes.
    fn above_capacity(&self, flavor: &str, nodes: &[&LabNode]) -> Vec<Lint> {
        let owners = self.queues.iter().chain(self.cohorts);
        let all = owners.flat_map(|owner| quotas(owner).into_iter().map(move |q| (owner, q)));
        let mut by_resource: BTreeMap<&str, Vec<(&Manifest, QuotaFields<'_>)>> = BTreeMap::new();
        for (owner, quota) in all.filter(|(_, quota)| quota.flavor == flavor) {
            by_resource
                .entry(quota.resource)
                .or_default()
                .push((owner, quota));
        }
        let lints = by_resource.into_iter().filter_map(|(resource, quotas)| {
            let of_node = |node: &&LabNode| node.allocatable.get(resource).copied();
            let capacity: Quantity = nodes.iter().filter_map(of_node).sum();
            if self.is_computed(resource) || !self.is_on_a_node(resource) {
                return None;
            }
            let mut total = 0;
            let above = quotas.iter().find(|(_, quota)| {
                total += quota.nominal();
                total > capacity.nanos()
            });
            let (owner, quota) = above?;
            let message = format!(
                "the quotas of {resource} in flavor {flavor} are higher than {capacity}, the capacity of the nodes of {}: admitted workloads can have pods that stay pending",
                self.nodes_source.owner()
            );
            let remedy = format!("lower the quota, or {}", self.nodes_source.add_nodes());
            let finding = owner.warning(&format!("{}.nominalQuota", quota.path), message);
            Some(Lint {
                name: "quota-above-capacity",
                finding: finding.remedy(remedy),
            })
        });
        lints.collect()
    }

    /// One warning for all resources that no node has: those of a folder can be tokens that another program counts.
    fn on_no_node(&self, flavors: &BTreeSet<&str>) -> Option<Lint> {
        let owners = self.queues.iter().chain(self.cohorts);
        let all = owners.flat_map(|owner| quotas(owner).into_iter().map(move |q| (owner, q)));
        let missing = all.filter(|(_, quota)| {
            flavors.contains(quota.flavor)
                && quota.nominal() > 0
                && !self.is_computed(quota.resource)
                && !self.is_on_a_node(quota.resource)
        });
        let missing: Vec<(&&Manifest, QuotaFields<'_>)> = missing.collect();
        let (owner, first) = missing.first()?;
        let mut resources: Vec<&str> = Vec::new();
        for (_, quota) in &missing {
            if !resources.contains(&quota.resource) {
                resources.push(quota.resource);
            }
        }
        let message = format!(
            "none of the nodes of {} has {}: pods that request it stay pending after their admission",
            self.nodes_source.owner(),
            list_names(&resources, MAX_NAMED)
        );
        let finding = owner.warning(&format!("{}.nominalQuota", first.path), message);
        let remedy = format!(
            "{}, or ignore this for resources that no pod requests",
            self.nodes_source.add_nodes()
        );
        Some(Lint {
            name: "quota-above-capacity",
            finding: finding.remedy(remedy),
        })
    }

    /// Whether a node has a resource.
    fn is_on_a_node(&self, resource: &str) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|node| node.allocatable.contains_key(resource))
    }

    fn without_nodes(&self, flavor: &Manifest) -> Lint {
        let message = format!(
            "the pods of workloads that are admitted to this flavor stay pending: its labels are on none of the nodes of {}",
            self.nodes_source.owner()
        );
        let spec = &flavor.object["spec"];
        let path = match spec["nodeLabels"].is_object() {
            true => "spec.nodeLabels",
            false => "spec.topologyName",
        };
        let remedy = format!("correct the labels, or {}", self.nodes_source.add_nodes());
        Lint {
            name: "flavor-without-nodes",
            finding: flavor.warning(path, message).remedy(remedy),
        }
    }

    /// Whether a resource is computed from others or from devices, so that no node has it.
    fn is_computed(&self, resource: &str) -> bool {
        self.configuration.resources.as_ref().is_some_and(|r| {
            let makes = |t: &ResourceTransformation| t.outputs.contains_key(resource);
            let maps = r.device_class_mappings.iter().any(|m| m.name == resource);
            maps || r.transformations.iter().any(makes)
        })
    }
}

fn flavor_names(queue: &Manifest) -> Vec<&str> {
    quotas(queue).iter().map(|quota| quota.flavor).collect()
}
