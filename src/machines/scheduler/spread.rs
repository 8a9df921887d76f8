//! Topology spread: how unevenly a pod's kin may be spread over domains.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::TopologySpreadConstraint;

use super::filter::{Nodes, wants_node};
use super::selector;
use super::why::Obstacle;
use super::{NodeInfo, PodInfo, taints};

/// A pod's hard constraints, with how many of its kin are in each domain.
pub(super) struct Spread<'a> {
    rules: Vec<Rule<'a>>,
}

struct Rule<'a> {
    constraint: &'a TopologySpreadConstraint,
    domains: BTreeMap<String, i64>,
    /// Whether the pod is its own kin.
    own: bool,
}

impl<'a> Spread<'a> {
    /// Counts, for every constraint that must hold.
    pub(super) fn new(pod: &'a PodInfo, nodes: &Nodes) -> Self {
        let constraints = pod
            .spec()
            .and_then(|s| s.topology_spread_constraints.as_deref())
            .unwrap_or_default();
        let hard = constraints
            .iter()
            .filter(|c| c.when_unsatisfiable == "DoNotSchedule");
        let mut rules: Vec<Rule<'a>> = hard
            .map(|constraint| Rule {
                constraint,
                domains: BTreeMap::new(),
                own: is_kin(constraint, pod, pod),
            })
            .collect();
        if rules.is_empty() {
            return Self { rules };
        }
        let keys: Vec<String> = rules
            .iter()
            .map(|r| r.constraint.topology_key.clone())
            .collect();
        for node in nodes.values().filter(|n| n.node.is_some()) {
            // Only nodes with all the labels make domains.
            if !keys.iter().all(|key| node.labels().contains_key(key)) {
                continue;
            }
            for rule in &mut rules {
                if !counts(rule.constraint, pod, node) {
                    continue;
                }
                let Some(domain) = node.labels().get(&rule.constraint.topology_key) else {
                    continue;
                };
                let kin = node.pods.values().filter(|other| {
                    other.key.namespace == pod.key.namespace
                        && !other.terminating()
                        && is_kin(rule.constraint, pod, other)
                });
                *rule.domains.entry(domain.clone()).or_default() += kin.count() as i64;
            }
        }
        Self { rules }
    }

    /// The obstacle that the pod would be too many in the node's domain.
    pub(super) fn check(&self, node: &NodeInfo) -> Option<Obstacle> {
        for rule in &self.rules {
            let Some(domain) = node.labels().get(&rule.constraint.topology_key) else {
                return Some(Obstacle::SpreadLabel);
            };
            let enough = rule.constraint.min_domains.unwrap_or(1).max(1) as usize;
            let least = if rule.domains.len() < enough {
                0
            } else {
                rule.domains.values().copied().min().unwrap_or(0)
            };
            let here = rule.domains.get(domain).copied().unwrap_or(0);
            if here + i64::from(rule.own) - least > i64::from(rule.constraint.max_skew) {
                return Some(Obstacle::Spread);
            }
        }
        None
    }
}

/// Whether the node's domain counts for the constraint.
fn counts(constraint: &TopologySpreadConstraint, pod: &PodInfo, node: &NodeInfo) -> bool {
    let honours = |policy: &Option<String>, usual: bool| match policy.as_deref() {
        Some("Honor") => true,
        Some(_) => false,
        None => usual,
    };
    let affinity = !honours(&constraint.node_affinity_policy, true)
        || pod.spec().is_none_or(|spec| wants_node(spec, node));
    let tainted = honours(&constraint.node_taints_policy, false)
        && taints::untolerated(pod.tolerations(), node.taints()).is_some();
    affinity && !tainted
}

fn is_kin(constraint: &TopologySpreadConstraint, pod: &PodInfo, other: &PodInfo) -> bool {
    let Some(selector) = &constraint.label_selector else {
        return false;
    };
    let keys = constraint.match_label_keys.iter().flatten();
    selector::matches(selector, other.labels())
        && keys
            .filter(|key| pod.labels().contains_key(*key))
            .all(|key| pod.labels().get(key) == other.labels().get(key))
}
