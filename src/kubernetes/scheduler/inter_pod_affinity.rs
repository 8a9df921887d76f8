//! The InterPodAffinity plugin: required affinity and anti-affinity of the pod and of existing
//! pods.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use k8s_openapi::api::core::v1::PodAffinityTerm;

use super::fit_error::FilterFailure;
use super::{NodeInfo, PodInfo};
use kueue_lab_component_helpers::label_selector::matches_label_selector;

/// A topology domain: the index of a term, and the value of its topology label.
type Domain = (usize, String);

/// The pre-filter state of a pod: the number of existing pods that match in each domain, where it is not
/// zero.
#[derive(Clone)]
pub(super) struct InterPodAffinity<'a> {
    affinity: &'a [PodAffinityTerm],
    anti: &'a [PodAffinityTerm],
    affinity_domains: HashMap<Domain, i64>,
    anti_affinity_domains: HashMap<Domain, i64>,
    /// Domains, by label and value, that the anti-affinity of existing pods excludes.
    existing_anti_affinity_domains: HashMap<(String, String), i64>,
    /// Whether the pod matches its own affinity.
    self_match: bool,
    /// Whether existing pods can matter.
    counts_pods: bool,
}

impl<'a> InterPodAffinity<'a> {
    /// Computes the state. `any_pod_has_anti_affinity` is whether any existing pod has
    /// anti-affinity.
    pub(super) fn new<'n>(
        pod: &'a PodInfo,
        nodes: impl Iterator<Item = &'n NodeInfo>,
        any_pod_has_anti_affinity: bool,
    ) -> Self {
        let (affinity, anti) = (pod.affinity_terms(), pod.anti_affinity_terms());
        let mut state = Self {
            affinity,
            anti,
            affinity_domains: HashMap::new(),
            anti_affinity_domains: HashMap::new(),
            existing_anti_affinity_domains: HashMap::new(),
            self_match: affinity.iter().all(|term| term_matches(term, pod, pod)),
            counts_pods: !affinity.is_empty() || !anti.is_empty() || any_pod_has_anti_affinity,
        };
        if !state.counts_pods {
            return state;
        }
        for node in nodes {
            for other in node.pods.values() {
                state.count_pod(pod, other, node, 1);
            }
        }
        state
    }

    /// Adds `number` to the counts that an existing pod on a node belongs to: 1 for a pod that is added, -1
    /// for one that is removed.
    pub(super) fn count_pod(
        &mut self,
        pod: &PodInfo,
        other: &PodInfo,
        node: &NodeInfo,
        number: i64,
    ) {
        if !self.counts_pods || other.key == pod.key {
            return;
        }
        let labels = node.labels();
        // Affinity requires one pod that matches all terms.
        if !self.affinity.is_empty() && self.affinity.iter().all(|t| term_matches(t, pod, other)) {
            for (index, term) in self.affinity.iter().enumerate() {
                if let Some(value) = labels.get(&term.topology_key) {
                    add(&mut self.affinity_domains, (index, value.clone()), number);
                }
            }
        }
        for (index, term) in self.anti.iter().enumerate() {
            if term_matches(term, pod, other)
                && let Some(value) = labels.get(&term.topology_key)
            {
                let domain = (index, value.clone());
                add(&mut self.anti_affinity_domains, domain, number);
            }
        }
        for term in other.anti_affinity_terms() {
            if term_matches(term, other, pod)
                && let Some(value) = labels.get(&term.topology_key)
            {
                let domain = (term.topology_key.clone(), value.clone());
                add(&mut self.existing_anti_affinity_domains, domain, number);
            }
        }
    }

    /// The filter failure on this node.
    pub(super) fn check(&self, node: &NodeInfo) -> Option<FilterFailure> {
        let labels = node.labels();
        // No existing pod matches the affinity but the pod itself does: it may be the first.
        let is_first_match = self.affinity_domains.is_empty() && self.self_match;
        let satisfied = |(index, term): (usize, &PodAffinityTerm)| {
            labels.get(&term.topology_key).is_some_and(|value| {
                is_first_match || self.affinity_domains.contains_key(&(index, value.clone()))
            })
        };
        if !self.affinity.iter().enumerate().all(satisfied) {
            return Some(FilterFailure::PodAffinity);
        }
        let not_violated = |(index, term): (usize, &PodAffinityTerm)| {
            labels.get(&term.topology_key).is_none_or(|value| {
                !self
                    .anti_affinity_domains
                    .contains_key(&(index, value.clone()))
            })
        };
        if !self.anti.iter().enumerate().all(not_violated) {
            return Some(FilterFailure::PodAntiAffinity);
        }
        let refused = self
            .existing_anti_affinity_domains
            .keys()
            .any(|(key, value)| labels.get(key) == Some(value));
        refused.then_some(FilterFailure::ExistingPodsAntiAffinity)
    }
}

/// Adds a number to a count; a count of zero is removed.
fn add<K: Eq + Hash>(counts: &mut HashMap<K, i64>, key: K, number: i64) {
    match counts.entry(key) {
        Entry::Occupied(mut count) => {
            *count.get_mut() += number;
            if *count.get() == 0 {
                count.remove();
            }
        }
        Entry::Vacant(count) => {
            count.insert(number);
        }
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
    in_namespace && matches_label_selector(selector, other.labels()) && {
        let same = |key: &String| owner.labels().get(key) == other.labels().get(key);
        let keys = term.match_label_keys.iter().flatten();
        let mismatch = term.mismatch_label_keys.iter().flatten();
        keys.filter(|k| owner.labels().contains_key(*k)).all(same)
            && mismatch
                .filter(|k| owner.labels().contains_key(*k))
                .all(|k| !same(k))
    }
}
