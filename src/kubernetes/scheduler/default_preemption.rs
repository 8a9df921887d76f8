//! The DefaultPreemption plugin: selects victims of lower priority on one node.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;

use super::filter::{Filter, Nodes};
use super::fit_error::{self, FilterFailure};
use super::{NodeInfo, PodInfo};

/// Maximum number of candidate nodes.
const CANDIDATES: usize = 100;

/// A candidate node and its victims.
pub(super) struct Candidate {
    pub(super) node: String,
    pub(super) victims: Vec<Arc<PodInfo>>,
}

/// Why preemption does not help a pod: the reason at the end of the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoCandidate {
    /// The pod does not preempt others.
    #[error("not eligible due to preemptionPolicy=Never.")]
    NeverPreempts,
    /// Victims of an earlier preemption are still terminating.
    #[error("not eligible due to a terminating pod on the nominated node.")]
    TerminatingPod,
    /// The reasons of the nodes, counted.
    #[error("{0}")]
    NoVictims(String),
}

/// Finds the best candidate; `filter` has the pre-filter state of the pod, and `failures` are the filter
/// failures of the nodes, in order.
///
/// # Errors
/// There is none.
pub(super) fn find_candidate(
    filter: &Filter<'_>,
    nodes: &Nodes,
    failures: &[FilterFailure],
) -> Result<Candidate, NoCandidate> {
    let pod = filter.pod;
    let policy = pod.spec().and_then(|s| s.preemption_policy.as_deref());
    if policy == Some("Never") {
        return Err(NoCandidate::NeverPreempts);
    }
    let nominated = pod.nominated().and_then(|name| nodes.get(name));
    let terminating = |p: &Arc<PodInfo>| p.terminating() && p.priority < pod.priority;
    if nominated.is_some_and(|n| n.pods.values().any(terminating)) {
        return Err(NoCandidate::TerminatingPod);
    }
    let known = nodes.values().filter(|n| n.node.is_some());
    let candidates = known
        .zip(failures)
        .filter(|(_, obstacle)| obstacle.is_resolvable_by_preemption())
        .filter_map(|(node, _)| select_victims_on_node(node, filter))
        .take(CANDIDATES);
    candidates
        .min_by_key(candidate_preference)
        .ok_or_else(|| NoCandidate::NoVictims(fit_error::no_victims_message(failures)))
}

/// The smallest set of victims on a node. `filter` has the pre-filter state of all nodes.
fn select_victims_on_node(node: &NodeInfo, filter: &Filter<'_>) -> Option<Candidate> {
    let pod = filter.pod;
    let mut lower: Vec<Arc<PodInfo>> = node
        .pods
        .values()
        .filter(|p| p.priority < pod.priority)
        .cloned()
        .collect();
    if lower.is_empty() {
        return None;
    }
    let (mut trial, mut filter) = (node.clone(), filter.clone());
    for victim in &lower {
        trial.remove(&victim.key);
        filter.remove_pod(victim, &trial);
    }
    if filter.check(&trial).is_some() {
        return None;
    }
    // Reprieve the most important pods first: high priority, then early start.
    lower.sort_by_key(|p| (Reverse(p.priority), started(p)));
    let mut victims = Vec::new();
    for candidate in lower {
        trial.add(candidate.clone());
        filter.add_pod(&candidate, &trial);
        if filter.check(&trial).is_some() {
            trial.remove(&candidate.key);
            filter.remove_pod(&candidate, &trial);
            victims.push(candidate);
        }
    }
    Some(Candidate {
        node: node.name.clone(),
        victims,
    })
}

/// Order of preference: low victim priorities, few victims, late start.
fn candidate_preference(candidate: &Candidate) -> (i32, i64, usize, Reverse<Timestamp>, String) {
    let highest = candidate.victims.iter().map(|v| v.priority).max();
    let sum = candidate
        .victims
        .iter()
        .map(|v| i64::from(v.priority) - i64::from(i32::MIN))
        .sum();
    let top = candidate
        .victims
        .iter()
        .filter(|v| Some(v.priority) == highest)
        .map(|v| started(v))
        .min();
    (
        highest.unwrap_or(i32::MIN),
        sum,
        candidate.victims.len(),
        Reverse(top.unwrap_or(Timestamp::MAX)),
        candidate.node.clone(),
    )
}

fn started(pod: &PodInfo) -> Timestamp {
    let status = pod.pod.status.as_ref();
    let started = status.and_then(|s| s.start_time.as_ref());
    started.map_or(Timestamp::MAX, |t| t.0)
}
