//! The PodTopologySpread plugin: `DoNotSchedule` constraints.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::TopologySpreadConstraint;

use super::filter::{has_untolerated_taint, matches_node_affinity};
use super::fit_error::FilterFailure;
use super::{NodeInfo, PodInfo};
use kueue_lab_component_helpers::label_selector::matches_label_selector;

/// A pod's hard constraints, with the number of matching pods per domain.
#[derive(Clone)]
pub(super) struct PodTopologySpread<'a> {
    rules: Vec<SpreadConstraint<'a>>,
}

#[derive(Clone)]
struct SpreadConstraint<'a> {
    constraint: &'a TopologySpreadConstraint,
    domains: BTreeMap<String, i64>,
    /// Whether the pod matches its own selector.
    self_match: bool,
}

impl<'a> PodTopologySpread<'a> {
    /// Counts matching pods for every hard constraint.
    pub(super) fn new<'n>(pod: &'a PodInfo, nodes: impl Iterator<Item = &'n NodeInfo>) -> Self {
        let constraints = pod
            .spec()
            .and_then(|s| s.topology_spread_constraints.as_deref())
            .unwrap_or_default();
        let hard = constraints
            .iter()
            .filter(|c| c.when_unsatisfiable == "DoNotSchedule");
        let rules: Vec<SpreadConstraint<'a>> = hard
            .map(|constraint| SpreadConstraint {
                constraint,
                domains: BTreeMap::new(),
                self_match: matches_constraint(constraint, pod, pod),
            })
            .collect();
        let mut state = Self { rules };
        if !state.rules.is_empty() {
            for node in nodes {
                state.count_pods(pod, node.pods.values().map(|other| &**other), node, 1);
            }
        }
        state
    }

    /// Adds `number` to the counts for each of these pods on a node that matches: 1 for pods that are added,
    /// -1 for pods that are removed.
    pub(super) fn count_pods<'p>(
        &mut self,
        pod: &PodInfo,
        others: impl Iterator<Item = &'p PodInfo> + Clone,
        node: &NodeInfo,
        number: i64,
    ) {
        let has_key = |rule: &SpreadConstraint<'_>| {
            let key = &rule.constraint.topology_key;
            node.labels().contains_key(key)
        };
        // Only nodes with all topology keys count.
        if node.node.is_none() || !self.rules.iter().all(has_key) {
            return;
        }
        for rule in &mut self.rules {
            if !node_is_included(rule.constraint, pod, node) {
                continue;
            }
            let Some(domain) = node.labels().get(&rule.constraint.topology_key) else {
                continue;
            };
            let matching = others.clone().filter(|other| {
                other.key.namespace == pod.key.namespace
                    && !other.terminating()
                    && matches_constraint(rule.constraint, pod, other)
            });
            let count = rule.domains.entry(domain.clone()).or_default();
            *count += matching.count() as i64 * number;
        }
    }

    /// The filter failure if the skew on this node would be too large.
    pub(super) fn check(&self, node: &NodeInfo) -> Option<FilterFailure> {
        for rule in &self.rules {
            let Some(domain) = node.labels().get(&rule.constraint.topology_key) else {
                return Some(FilterFailure::PodTopologySpreadMissingLabel);
            };
            let enough = rule.constraint.min_domains.unwrap_or(1).max(1) as usize;
            let least = if rule.domains.len() < enough {
                0
            } else {
                rule.domains.values().copied().min().unwrap_or(0)
            };
            let here = rule.domains.get(domain).copied().unwrap_or(0);
            if here + i64::from(rule.self_match) - least > i64::from(rule.constraint.max_skew) {
                return Some(FilterFailure::PodTopologySpread);
            }
        }
        None
    }
}

/// Whether the constraint includes the node (`nodeAffinityPolicy`, `nodeTaintsPolicy`).
fn node_is_included(constraint: &TopologySpreadConstraint, pod: &PodInfo, node: &NodeInfo) -> bool {
    let honours = |policy: &Option<String>, usual: bool| match policy.as_deref() {
        Some("Honor") => true,
        Some(_) => false,
        None => usual,
    };
    let affinity =
        !honours(&constraint.node_affinity_policy, true) || matches_node_affinity(pod, node);
    let tainted =
        honours(&constraint.node_taints_policy, false) && has_untolerated_taint(pod, node);
    affinity && !tainted
}

fn matches_constraint(
    constraint: &TopologySpreadConstraint,
    pod: &PodInfo,
    other: &PodInfo,
) -> bool {
    let Some(selector) = &constraint.label_selector else {
        return false;
    };
    let keys = constraint.match_label_keys.iter().flatten();
    matches_label_selector(selector, other.labels())
        && keys
            .filter(|key| pod.labels().contains_key(*key))
            .all(|key| pod.labels().get(key) == other.labels().get(key))
}
