//! The smallest set of domains that takes a number of pods and leaders.
//!
//! Knows nothing of trees: domains are numbers with figures.

use std::collections::BTreeMap;

use super::placement::DomainState;
use super::topology_tree::Domain;

/// How a remainder was reached: the domain taken last and the step before.
#[derive(Clone, Copy)]
struct SetStep {
    domain: Domain,
    before: usize,
}

const START: usize = usize::MAX;

/// What is left to place (leaders, pods; below zero: room to spare) to the step that got there.
/// The first way found to a remainder stays.
type Reached = BTreeMap<(i32, i32), usize>;

/// Of the sets of exactly `size` domains that take all pods and leaders, one with the least room
/// to spare. Among equals the one that comes first when domains are taken in the given order. A
/// domain can be taken with its leader or without.
pub(super) fn select_optimal_domain_set(
    ordered: &[Domain],
    states: &[DomainState],
    size: usize,
    leaders: i32,
    pods: i32,
) -> Option<Vec<Domain>> {
    let mut steps: Vec<SetStep> = Vec::new();
    let mut reached: Vec<Reached> = vec![Reached::new(); size + 1];
    reached[0].insert((leaders, pods), START);
    for &domain in ordered {
        let state = &states[domain as usize];
        for taken in (1..=size).rev() {
            let (before, after) = reached.split_at_mut(taken);
            let after = &mut after[0];
            for (&(leaders_left, pods_left), &before) in &before[taken - 1] {
                if leaders_left <= 0 && pods_left <= 0 {
                    continue;
                }
                let mut reach = |leaders_left: i32, pods_left: i32| {
                    after.entry((leaders_left, pods_left)).or_insert_with(|| {
                        steps.push(SetStep { domain, before });
                        steps.len() - 1
                    });
                };
                if leaders_left > 0 && state.leaders > 0 {
                    reach(
                        leaders_left - state.leaders,
                        pods_left.saturating_sub(state.pods_with_leader),
                    );
                }
                if state.slices > 0 {
                    reach(leaders_left, pods_left.saturating_sub(state.pods));
                }
            }
        }
    }
    // The remainder nearest to zero of those that leave no leader and no pod.
    let best = reached[size].range((0, i32::MIN)..=(0, 0)).next_back();
    let mut at = *best?.1;
    let mut set = Vec::with_capacity(size);
    while at != START {
        let step = steps[at];
        set.push(step.domain);
        at = step.before;
    }
    set.reverse();
    Some(set)
}
