//! [`NodeFilter`]: the nodes that a pod set may use, by taints, node selector and node affinity.
//!
//! Must not depend on capacity.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeAffinity, Taint, Toleration};

use super::node_affinity_text::{describe_preferred, describe_required};
use super::nodes_cache::NodeInfo;
use super::pod_set_requests::TasPodSetRequests;
use super::topology_tree::{Leaf, TopologyTree};
use crate::kube::taints::find_untolerated;
use kueue_lab_api::v1beta2::PodSetUpdate;
use kueue_lab_component_helpers::label_selector::Labels;
use kueue_lab_component_helpers::node_affinity::{NodeSelector, PreferredSchedulingTerms};
use kueue_lab_component_helpers::{key_error, value_error};
use kueue_lab_reason::TasExclusionStats;
use kueue_lab_reason::TasFailure;

/// The node constraints of a pod set.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeFilter {
    tolerations: Vec<Toleration>,
    selector: Labels,
    required: Option<NodeSelector>,
    preferred: Option<PreferredSchedulingTerms>,
    key: String,
}

/// The result of a [`NodeFilter`] on a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeMatches {
    /// The matching leaves, in order.
    pub(super) leaves: Vec<Leaf>,
    /// The affinity score of each; empty without preferred terms.
    pub(super) scores: Vec<i64>,
    /// The excluded nodes.
    pub(super) exclusions: TasExclusionStats,
}

impl NodeFilter {
    /// The filter of a pod set with its pod set updates.
    ///
    /// The node selector is ignored when the lowest level is not the hostname.
    pub(super) fn new(
        request: &TasPodSetRequests<'_>,
        flavor_tolerations: &[Toleration],
        lowest_is_node: bool,
        respect_preferred: bool,
    ) -> Result<Self, TasFailure> {
        let (mut tolerations, selector) = with_updates(request)?;
        tolerations.extend_from_slice(flavor_tolerations);
        if lowest_is_node {
            check_selector(&selector)?;
        }
        let affinity = node_affinity(request);
        let mut filter = NodeFilter {
            tolerations,
            selector: if lowest_is_node {
                selector
            } else {
                Labels::new()
            },
            ..Default::default()
        };
        let required = affinity.and_then(|a| {
            a.required_during_scheduling_ignored_during_execution
                .as_ref()
        });
        if let Some(required) = required {
            let parsed = NodeSelector::of(required);
            if let Some(error) = parsed.error() {
                let (affinity, reason) = (describe_required(required), error.to_string());
                return Err(TasFailure::InvalidAffinity { affinity, reason });
            }
            filter.required = Some(parsed);
        }
        let preferred = affinity
            .filter(|_| respect_preferred)
            .and_then(|a| {
                a.preferred_during_scheduling_ignored_during_execution
                    .as_ref()
            })
            .filter(|terms| !terms.is_empty());
        if let Some(preferred) = preferred {
            let parsed = PreferredSchedulingTerms::of(preferred);
            filter.preferred = Some(parsed.map_err(|error| TasFailure::InvalidPreference {
                terms: describe_preferred(preferred),
                reason: error.to_string(),
            })?);
        }
        filter.key = filter.cache_key(affinity);
        Ok(filter)
    }

    /// Equal for filters that match the same nodes.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    fn cache_key(&self, affinity: Option<&NodeAffinity>) -> String {
        let affinity = affinity.filter(|_| self.required.is_some() || self.preferred.is_some());
        if self.tolerations.is_empty() && self.selector.is_empty() && affinity.is_none() {
            return String::new();
        }
        let parts = (&self.tolerations, &self.selector, affinity);
        serde_json::to_string(&parts).unwrap_or_default()
    }

    /// Applies the filter to the nodes of a tree.
    pub(super) fn apply(&self, tree: &TopologyTree) -> NodeMatches {
        let total_nodes = tree.leaf_count();
        let mut exclusions = TasExclusionStats {
            total_nodes,
            ..Default::default()
        };
        if !tree.lowest_is_node() {
            return NodeMatches {
                leaves: (0..total_nodes).collect(),
                scores: Vec::new(),
                exclusions,
            };
        }
        let mut leaves = Vec::with_capacity(total_nodes);
        let mut scores = Vec::new();
        for (leaf, node) in tree.nodes().iter().enumerate() {
            if let Some(taint) = find_untolerated(&node.taints, self.tolerations.iter()) {
                *exclusions.taints.entry(taint_text(taint)).or_default() += 1;
            } else if !self.selects(node) {
                exclusions.node_selector += 1;
            } else if !self.meets_required_affinity(node) {
                exclusions.affinity += 1;
            } else {
                leaves.push(leaf);
                scores.extend(
                    self.preferred
                        .as_ref()
                        .map(|p| p.score(&node.name, &node.labels)),
                );
            }
        }
        NodeMatches {
            leaves,
            scores,
            exclusions,
        }
    }

    fn meets_required_affinity(&self, node: &NodeInfo) -> bool {
        let required = self.required.as_ref();
        required.is_none_or(|required| required.matches(&node.name, &node.labels) == Ok(true))
    }

    fn selects(&self, node: &NodeInfo) -> bool {
        self.selector
            .iter()
            .all(|(k, v)| node.labels.get(k) == Some(v))
    }
}

fn node_affinity<'a>(request: &TasPodSetRequests<'a>) -> Option<&'a NodeAffinity> {
    let spec = request.pod_set.template.spec.as_ref()?;
    spec.affinity.as_ref()?.node_affinity.as_ref()
}

/// The tolerations and the node selector of a pod set with its pod set updates.
fn with_updates(request: &TasPodSetRequests<'_>) -> Result<(Vec<Toleration>, Labels), TasFailure> {
    let template = &request.pod_set.template;
    let spec = template.spec.as_ref();
    let meta = template.metadata.as_ref();
    let mut tolerations: Vec<Toleration> =
        spec.and_then(|s| s.tolerations.clone()).unwrap_or_default();
    let mut selector = spec
        .and_then(|s| s.node_selector.clone())
        .unwrap_or_default();
    if request.pod_set_updates.is_empty() {
        return Ok((tolerations, selector));
    }
    let mut annotations = meta.and_then(|m| m.annotations.clone()).unwrap_or_default();
    let mut labels = meta.and_then(|m| m.labels.clone()).unwrap_or_default();
    for &update in &request.pod_set_updates {
        let PodSetUpdate {
            annotations: a,
            labels: l,
            node_selector: n,
            ..
        } = update;
        let merged = merge("annotations", &mut annotations, a)
            .and_then(|()| merge("labels", &mut labels, l))
            .and_then(|()| merge("nodeSelector", &mut selector, n));
        merged.map_err(|error| TasFailure::InvalidPodSetUpdate {
            pod_set: request.pod_set.name.clone(),
            error,
        })?;
        for toleration in &update.tolerations {
            if !tolerations.iter().any(|t| is_same(t, toleration)) {
                tolerations.push(toleration.clone());
            }
        }
    }
    Ok((tolerations, selector))
}

fn merge(what: &str, into: &mut Labels, from: &BTreeMap<String, String>) -> Result<(), String> {
    for (key, new) in from {
        if let Some(old) = into.get(key).filter(|old| *old != new) {
            return Err(format!(
                "invalid admission check PodSetUpdate: conflict for {what}: conflict for key={key}, value1={old}, value2={new}"
            ));
        }
    }
    into.extend(from.iter().map(|(k, v)| (k.clone(), v.clone())));
    Ok(())
}

fn is_same(a: &Toleration, b: &Toleration) -> bool {
    fn text(s: &Option<String>) -> &str {
        s.as_deref().unwrap_or_default()
    }
    fn operator(t: &Toleration) -> &str {
        match text(&t.operator) {
            "" => "Equal",
            operator => operator,
        }
    }
    text(&a.key) == text(&b.key)
        && text(&a.effect) == text(&b.effect)
        && operator(a) == operator(b)
        && text(&a.value) == text(&b.value)
}

fn check_selector(selector: &Labels) -> Result<(), TasFailure> {
    for (key, value) in selector {
        let errors: Vec<String> = key_error(key, "key")
            .into_iter()
            .chain(value_error(key, value, "values[0]"))
            .collect();
        let reason = match errors.as_slice() {
            [] => continue,
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let shown: Vec<String> = selector.iter().map(|(k, v)| format!("{k}:{v}")).collect();
        return Err(TasFailure::InvalidNodeSelector {
            selector: format!("map[{}]", shown.join(" ")),
            reason,
        });
    }
    Ok(())
}

/// A taint as `kubectl taint` formats it.
fn taint_text(taint: &Taint) -> String {
    let value = taint.value.as_deref().unwrap_or_default();
    let (key, effect) = (&taint.key, &taint.effect);
    match (effect.is_empty(), value.is_empty()) {
        (true, true) => key.clone(),
        (true, false) => format!("{key}={value}:"),
        (false, true) => format!("{key}:{effect}"),
        (false, false) => format!("{key}={value}:{effect}"),
    }
}
