//! Which pods of lower priority would have to go so that a pod fits, as kube-scheduler's default
//! preemption chooses them.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;

use super::filter::{Filter, Nodes};
use super::fit_error::{self, FilterFailure};
use super::{NodeInfo, PodInfo};

/// How many nodes with a way to make room are compared.
const CANDIDATES: usize = 100;

/// A node, and who has to leave it.
pub(super) struct Candidate {
    pub(super) node: String,
    pub(super) victims: Vec<Arc<PodInfo>>,
}

/// Looks for room; `obstacles` are those of the nodes in their order.
///
/// # Errors
/// There is none; the text says why, for the end of the sentence.
pub(super) fn find_candidate(
    pod: &PodInfo,
    nodes: &Nodes,
    obstacles: &[FilterFailure],
    minding: bool,
) -> Result<Candidate, String> {
    let policy = pod.spec().and_then(|s| s.preemption_policy.as_deref());
    if policy == Some("Never") {
        return Err("not eligible due to preemptionPolicy=Never.".into());
    }
    let nominated = pod.nominated().and_then(|name| nodes.get(name));
    let leaving = |p: &Arc<PodInfo>| p.terminating() && p.priority < pod.priority;
    if nominated.is_some_and(|n| n.pods.values().any(leaving)) {
        return Err("not eligible due to a terminating pod on the nominated node.".into());
    }
    let known = nodes.values().filter(|n| n.node.is_some());
    let rooms = known
        .zip(obstacles)
        .filter(|(_, obstacle)| obstacle.is_resolvable_by_preemption())
        .filter_map(|(node, _)| select_victims_on_node(pod, node, nodes, minding))
        .take(CANDIDATES);
    rooms
        .min_by_key(candidate_preference)
        .ok_or_else(|| fit_error::no_victims_message(obstacles))
}

/// The least a node has to lose for the pod to fit.
fn select_victims_on_node(
    pod: &PodInfo,
    node: &NodeInfo,
    nodes: &Nodes,
    minding: bool,
) -> Option<Candidate> {
    let mut lower: Vec<Arc<PodInfo>> = node
        .pods
        .values()
        .filter(|p| p.priority < pod.priority)
        .cloned()
        .collect();
    if lower.is_empty() {
        return None;
    }
    let mut trial = node.clone();
    for victim in &lower {
        trial.remove(&victim.key);
    }
    let cares = minding || pod.depends_on_other_pods();
    if !fits(pod, &trial, nodes, cares, minding) {
        return None;
    }
    // The most important are reprieved first: high priority, then long running.
    lower.sort_by_key(|p| (Reverse(p.priority), started(p)));
    let mut victims = Vec::new();
    for candidate in lower {
        trial.add(candidate.clone());
        if !fits(pod, &trial, nodes, cares, minding) {
            trial.remove(&candidate.key);
            victims.push(candidate);
        }
    }
    Some(Candidate {
        node: node.name.clone(),
        victims,
    })
}

fn fits(pod: &PodInfo, trial: &NodeInfo, nodes: &Nodes, cares: bool, minding: bool) -> bool {
    if !cares {
        return Filter::new(pod, &Nodes::new(), false)
            .check(trial)
            .is_none();
    }
    let mut changed = nodes.clone();
    changed.insert(trial.name.clone(), trial.clone());
    Filter::new(pod, &changed, minding).check(trial).is_none()
}

/// Rooms in the order of preference: mild on priorities, few victims, those that started last.
fn candidate_preference(room: &Candidate) -> (i32, i64, usize, Reverse<Timestamp>, String) {
    let highest = room.victims.iter().map(|v| v.priority).max();
    let sum = room
        .victims
        .iter()
        .map(|v| i64::from(v.priority) - i64::from(i32::MIN))
        .sum();
    let top = room
        .victims
        .iter()
        .filter(|v| Some(v.priority) == highest)
        .map(|v| started(v))
        .min();
    (
        highest.unwrap_or(i32::MIN),
        sum,
        room.victims.len(),
        Reverse(top.unwrap_or(Timestamp::MAX)),
        room.node.clone(),
    )
}

fn started(pod: &PodInfo) -> Timestamp {
    let status = pod.pod.status.as_ref();
    let started = status.and_then(|s| s.start_time.as_ref());
    started.map_or(Timestamp::MAX, |t| t.0)
}
