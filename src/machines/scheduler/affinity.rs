//! Required affinity and anti-affinity between pods: a pod's own, and that of pods already placed.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::PodAffinityTerm;

use super::filter::Nodes;
use super::selector;
use super::why::Obstacle;
use super::{NodeInfo, PodInfo};

/// A topology domain: the index of a term, and the value of its topology label.
type Domain = (usize, String);

/// Where a pod's friends and foes are.
pub(super) struct Neighbours<'a> {
    affinity: &'a [PodAffinityTerm],
    anti: &'a [PodAffinityTerm],
    near: HashSet<Domain>,
    away: HashSet<Domain>,
    /// Domains, by label and value, that placed pods do not want to share with this one.
    refused: HashSet<(String, String)>,
    /// Nobody matches the affinity yet, but the pod itself does: it may be the first.
    first: bool,
}

impl<'a> Neighbours<'a> {
    /// Looks where everybody is. `minding` says whether any placed pod has anti-affinity.
    pub(super) fn new(pod: &'a PodInfo, nodes: &Nodes, minding: bool) -> Self {
        let mut neighbours = Self {
            affinity: pod.affinity_terms(),
            anti: pod.anti_affinity_terms(),
            near: HashSet::new(),
            away: HashSet::new(),
            refused: HashSet::new(),
            first: false,
        };
        let own = !neighbours.affinity.is_empty() || !neighbours.anti.is_empty();
        if !own && !minding {
            return neighbours;
        }
        for node in nodes.values() {
            for other in node.pods.values().filter(|p| p.key != pod.key) {
                neighbours.meet(pod, other, node);
            }
        }
        neighbours.first = neighbours.near.is_empty()
            && neighbours
                .affinity
                .iter()
                .all(|term| applies(term, pod, pod));
        neighbours
    }

    fn meet(&mut self, pod: &PodInfo, other: &PodInfo, node: &NodeInfo) {
        let labels = node.labels();
        // Affinity wants one pod that matches all terms.
        if !self.affinity.is_empty() && self.affinity.iter().all(|t| applies(t, pod, other)) {
            for (index, term) in self.affinity.iter().enumerate() {
                if let Some(value) = labels.get(&term.topology_key) {
                    self.near.insert((index, value.clone()));
                }
            }
        }
        for (index, term) in self.anti.iter().enumerate() {
            if applies(term, pod, other)
                && let Some(value) = labels.get(&term.topology_key)
            {
                self.away.insert((index, value.clone()));
            }
        }
        for term in other.anti_affinity_terms() {
            if applies(term, other, pod)
                && let Some(value) = labels.get(&term.topology_key)
            {
                self.refused
                    .insert((term.topology_key.clone(), value.clone()));
            }
        }
    }

    /// The obstacle other pods are on this node.
    pub(super) fn check(&self, node: &NodeInfo) -> Option<Obstacle> {
        let labels = node.labels();
        let near = |(index, term): (usize, &PodAffinityTerm)| {
            labels
                .get(&term.topology_key)
                .is_some_and(|value| self.first || self.near.contains(&(index, value.clone())))
        };
        if !self.affinity.iter().enumerate().all(near) {
            return Some(Obstacle::PodAffinity);
        }
        let away = |(index, term): (usize, &PodAffinityTerm)| {
            labels
                .get(&term.topology_key)
                .is_none_or(|value| !self.away.contains(&(index, value.clone())))
        };
        if !self.anti.iter().enumerate().all(away) {
            return Some(Obstacle::PodAntiAffinity);
        }
        let refused = self
            .refused
            .iter()
            .any(|(key, value)| labels.get(key) == Some(value));
        refused.then_some(Obstacle::ExistingAntiAffinity)
    }
}

/// Whether a term of `owner` is about `other`.
pub(super) fn applies(term: &PodAffinityTerm, owner: &PodInfo, other: &PodInfo) -> bool {
    let namespaces = term.namespaces.as_deref().unwrap_or_default();
    // Namespaces are chosen by name here; a selector over their labels stands for all of them.
    let here = match &term.namespace_selector {
        Some(_) => true,
        None if namespaces.is_empty() => other.key.namespace == owner.key.namespace,
        None => namespaces.contains(&other.key.namespace),
    };
    let Some(selector) = &term.label_selector else {
        return false;
    };
    here && selector::matches(selector, other.labels()) && {
        let same = |key: &String| owner.labels().get(key) == other.labels().get(key);
        let keys = term.match_label_keys.iter().flatten();
        let mismatch = term.mismatch_label_keys.iter().flatten();
        keys.filter(|k| owner.labels().contains_key(*k)).all(same)
            && mismatch
                .filter(|k| owner.labels().contains_key(*k))
                .all(|k| !same(k))
    }
}
