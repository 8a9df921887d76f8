//! The InterPodAffinity plugin: required affinity and anti-affinity of the pod and of existing
//! pods.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::PodAffinityTerm;

use super::fit_error::FilterFailure;
use super::selector;
use super::{NodeInfo, PodInfo};

/// A topology domain: the index of a term, and the value of its topology label.
type Domain = (usize, String);

/// The pre-filter state of a pod.
pub(super) struct InterPodAffinity<'a> {
    affinity: &'a [PodAffinityTerm],
    anti: &'a [PodAffinityTerm],
    affinity_domains: HashSet<Domain>,
    anti_affinity_domains: HashSet<Domain>,
    /// Domains, by label and value, that the anti-affinity of existing pods excludes.
    existing_anti_affinity_domains: HashSet<(String, String)>,
    /// No existing pod matches the affinity but the pod itself does: it may be the first.
    is_first_match: bool,
}

impl<'a> InterPodAffinity<'a> {
    /// Computes the state. `any_pod_has_anti_affinity` is whether any existing pod has
    /// anti-affinity.
    pub(super) fn new<'n>(
        pod: &'a PodInfo,
        nodes: impl Iterator<Item = &'n NodeInfo>,
        any_pod_has_anti_affinity: bool,
    ) -> Self {
        let mut state = Self {
            affinity: pod.affinity_terms(),
            anti: pod.anti_affinity_terms(),
            affinity_domains: HashSet::new(),
            anti_affinity_domains: HashSet::new(),
            existing_anti_affinity_domains: HashSet::new(),
            is_first_match: false,
        };
        let own = !state.affinity.is_empty() || !state.anti.is_empty();
        if !own && !any_pod_has_anti_affinity {
            return state;
        }
        for node in nodes {
            for other in node.pods.values().filter(|p| p.key != pod.key) {
                state.count_pod(pod, other, node);
            }
        }
        state.is_first_match = state.affinity_domains.is_empty()
            && state
                .affinity
                .iter()
                .all(|term| term_matches(term, pod, pod));
        state
    }

    fn count_pod(&mut self, pod: &PodInfo, other: &PodInfo, node: &NodeInfo) {
        let labels = node.labels();
        // Affinity requires one pod that matches all terms.
        if !self.affinity.is_empty() && self.affinity.iter().all(|t| term_matches(t, pod, other)) {
            for (index, term) in self.affinity.iter().enumerate() {
                if let Some(value) = labels.get(&term.topology_key) {
                    self.affinity_domains.insert((index, value.clone()));
                }
            }
        }
        for (index, term) in self.anti.iter().enumerate() {
            if term_matches(term, pod, other)
                && let Some(value) = labels.get(&term.topology_key)
            {
                self.anti_affinity_domains.insert((index, value.clone()));
            }
        }
        for term in other.anti_affinity_terms() {
            if term_matches(term, other, pod)
                && let Some(value) = labels.get(&term.topology_key)
            {
                self.existing_anti_affinity_domains
                    .insert((term.topology_key.clone(), value.clone()));
            }
        }
    }

    /// The filter failure on this node.
    pub(super) fn check(&self, node: &NodeInfo) -> Option<FilterFailure> {
        let labels = node.labels();
        let satisfied = |(index, term): (usize, &PodAffinityTerm)| {
            labels.get(&term.topology_key).is_some_and(|value| {
                self.is_first_match || self.affinity_domains.contains(&(index, value.clone()))
            })
        };
        if !self.affinity.iter().enumerate().all(satisfied) {
            return Some(FilterFailure::PodAffinity);
        }
        let not_violated = |(index, term): (usize, &PodAffinityTerm)| {
            labels
                .get(&term.topology_key)
                .is_none_or(|value| !self.anti_affinity_domains.contains(&(index, value.clone())))
        };
        if !self.anti.iter().enumerate().all(not_violated) {
            return Some(FilterFailure::PodAntiAffinity);
        }
        let refused = self
            .existing_anti_affinity_domains
            .iter()
            .any(|(key, value)| labels.get(key) == Some(value));
        refused.then_some(FilterFailure::ExistingPodsAntiAffinity)
    }
}

/// Whether a term of `owner` matches `other`.
pub(super) fn term_matches(term: &PodAffinityTerm, owner: &PodInfo, other: &PodInfo) -> bool {
    let namespaces = term.namespaces.as_deref().unwrap_or_default();
    // Namespaces are matched by name only; a `namespaceSelector` matches all.
    let in_namespace = match &term.namespace_selector {
        Some(_) => true,
        None if namespaces.is_empty() => other.key.namespace == owner.key.namespace,
        None => namespaces.contains(&other.key.namespace),
    };
    let Some(selector) = &term.label_selector else {
        return false;
    };
    in_namespace && selector::matches(selector, other.labels()) && {
        let same = |key: &String| owner.labels().get(key) == other.labels().get(key);
        let keys = term.match_label_keys.iter().flatten();
        let mismatch = term.mismatch_label_keys.iter().flatten();
        keys.filter(|k| owner.labels().contains_key(*k)).all(same)
            && mismatch
                .filter(|k| owner.labels().contains_key(*k))
                .all(|k| !same(k))
    }
}
