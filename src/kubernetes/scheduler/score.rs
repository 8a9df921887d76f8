//! Score plugins with kube-scheduler's default weights.

use super::filter::{COMPARISON, Nodes};
use super::{NodeInfo, PodInfo, inter_pod_affinity};
use kueue_lab_component_helpers::node_affinity::PreferredSchedulingTerms;
use kueue_lab_component_helpers::resource_amounts::{CPU, MEMORY};
use kueue_lab_component_helpers::toleration::count_intolerable_taints_prefer_no_schedule;

/// Maximum score of a plugin.
const MAX: i64 = 100;
/// Assumed cpu request of a pod without one, in millicores.
const DEFAULT_MILLI_CPU_REQUEST: i64 = 100;
/// Assumed memory request of a pod without one, in bytes.
const DEFAULT_MEMORY_REQUEST: i64 = 200 * 1024 * 1024;

/// The best of `candidates`; the first of equals.
pub(super) fn select_host<'a>(
    pod: &PodInfo,
    candidates: &[&'a NodeInfo],
    nodes: &Nodes,
) -> Option<&'a NodeInfo> {
    if candidates.len() < 2 {
        return candidates.first().copied();
    }
    let intolerable_taints: Vec<i64> = candidates
        .iter()
        .map(|n| {
            count_intolerable_taints_prefer_no_schedule(n.taints(), pod.tolerations(), COMPARISON)
                as i64
        })
        .collect();
    let terms = preferred_node_affinity(pod);
    let score = |n: &&NodeInfo| {
        let terms = terms.as_ref();
        terms.map_or(0, |terms| terms.score(&n.name, n.labels()))
    };
    let preferred: Vec<i64> = candidates.iter().map(score).collect();
    let inter_pod_affinity = inter_pod_affinity_scores(pod, candidates, nodes);
    let scores = [
        (3, default_normalize_score(&intolerable_taints, true)),
        (2, default_normalize_score(&preferred, false)),
        (2, min_max_normalize_score(&inter_pod_affinity)),
        (
            1,
            candidates.iter().map(|n| least_allocated(pod, n)).collect(),
        ),
        (
            1,
            candidates
                .iter()
                .map(|n| balanced_allocation(pod, n))
                .collect(),
        ),
    ];
    let total = |at: usize| -> i64 { scores.iter().map(|(weight, s)| weight * s[at]).sum() };
    let mut best = 0;
    for at in 1..candidates.len() {
        if total(at) > total(best) {
            best = at;
        }
    }
    Some(candidates[best])
}

/// Normalizes scores to 0..=100, optionally reversed.
fn default_normalize_score(raw: &[i64], reverse: bool) -> Vec<i64> {
    let max = raw.iter().copied().max().unwrap_or(0);
    let one = |score: &i64| match (max, reverse) {
        (0, true) => MAX,
        (0, false) => 0,
        (_, true) => MAX - MAX * score / max,
        (_, false) => MAX * score / max,
    };
    raw.iter().map(one).collect()
}

/// Normalizes scores that may be negative to 0..=100.
fn min_max_normalize_score(raw: &[i64]) -> Vec<i64> {
    let min = raw.iter().copied().min().unwrap_or(0);
    let max = raw.iter().copied().max().unwrap_or(0);
    let one = |score: &i64| {
        if max == min {
            0
        } else {
            MAX * (score - min) / (max - min)
        }
    };
    raw.iter().map(one).collect()
}

/// The preferred node affinity of a pod; an invalid one scores nothing.
fn preferred_node_affinity(pod: &PodInfo) -> Option<PreferredSchedulingTerms> {
    let affinity = pod.spec()?.affinity.as_ref()?.node_affinity.as_ref()?;
    let terms = affinity
        .preferred_during_scheduling_ignored_during_execution
        .as_ref()?;
    PreferredSchedulingTerms::of(terms).ok()
}

/// Preferred inter-pod affinity scores of each node.
fn inter_pod_affinity_scores(pod: &PodInfo, candidates: &[&NodeInfo], nodes: &Nodes) -> Vec<i64> {
    let affinity = pod.spec().and_then(|s| s.affinity.as_ref());
    let affinity_terms = affinity.and_then(|a| a.pod_affinity.as_ref()).map(|a| {
        a.preferred_during_scheduling_ignored_during_execution
            .iter()
    });
    let anti_affinity_terms = affinity
        .and_then(|a| a.pod_anti_affinity.as_ref())
        .map(|a| {
            a.preferred_during_scheduling_ignored_during_execution
                .iter()
        });
    let affinity_terms = affinity_terms
        .into_iter()
        .flatten()
        .flatten()
        .map(|t| (t, 1));
    let anti_affinity_terms = anti_affinity_terms
        .into_iter()
        .flatten()
        .flatten()
        .map(|t| (t, -1));
    let mut scores = vec![0; candidates.len()];
    for (weighted, sign) in affinity_terms.chain(anti_affinity_terms) {
        let term = &weighted.pod_affinity_term;
        let mut domains = std::collections::HashMap::<&str, i64>::new();
        for node in nodes.values() {
            if let Some(domain) = node.labels().get(&term.topology_key) {
                let pods = node.pods.values();
                let matching_pods = pods
                    .filter(|p| inter_pod_affinity::term_matches(term, pod, p))
                    .count();
                *domains.entry(domain).or_default() += matching_pods as i64;
            }
        }
        for (score, node) in scores.iter_mut().zip(candidates) {
            let domain = node.labels().get(&term.topology_key);
            let matching_pods = domain.and_then(|d| domains.get(d.as_str())).copied();
            *score += sign * i64::from(weighted.weight) * matching_pods.unwrap_or(0);
        }
    }
    scores
}

/// Requested and allocatable cpu and memory with the pod on the node.
fn requested_and_allocatable(pod: &PodInfo, node: &NodeInfo) -> [(i64, i64); 2] {
    [
        (CPU, DEFAULT_MILLI_CPU_REQUEST),
        (MEMORY, DEFAULT_MEMORY_REQUEST),
    ]
    .map(|(name, usual)| {
        let wanted = pod.requests.get(name);
        let wanted = if wanted == 0 { usual } else { wanted };
        (
            node.requested.get(name).saturating_add(wanted),
            node.allocatable.get(name),
        )
    })
}

/// Prefers nodes with more free capacity.
fn least_allocated(pod: &PodInfo, node: &NodeInfo) -> i64 {
    let free = |(used, all): (i64, i64)| {
        if all <= 0 || used > all {
            return 0;
        }
        let score = i128::from(all - used) * i128::from(MAX) / i128::from(all);
        i64::try_from(score).unwrap_or(0)
    };
    requested_and_allocatable(pod, node)
        .map(free)
        .iter()
        .sum::<i64>()
        / 2
}

/// Prefers nodes with balanced use of cpu and memory.
fn balanced_allocation(pod: &PodInfo, node: &NodeInfo) -> i64 {
    let fraction = |(used, all): (i64, i64)| {
        if all <= 0 {
            return MAX;
        }
        let fraction = i128::from(used) * i128::from(MAX) / i128::from(all);
        i64::try_from(fraction).unwrap_or(MAX).min(MAX)
    };
    let [cpu, memory] = requested_and_allocatable(pod, node).map(fraction);
    MAX - (cpu - memory).abs() / 2
}
