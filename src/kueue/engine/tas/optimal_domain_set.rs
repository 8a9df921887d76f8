//! The smallest set of domains that fits a number of pods and leaders.
//!
//! Must not depend on trees: domains are numbers with counts.

use std::collections::BTreeMap;

use super::placement::DomainState;
use super::topology_tree::Domain;

/// The last step to a remainder: the domain added and the previous step.
#[derive(Clone, Copy)]
struct SetStep {
    domain: Domain,
    before: usize,
}

const START: usize = usize::MAX;

/// The remainder (leaders, pods; negative: spare capacity) to the step that reached it. The first
/// step that reaches a remainder is kept.
type Reached = BTreeMap<(i32, i32), usize>;

/// Of the sets of exactly `size` domains that fit all pods and leaders, one with the least spare
/// capacity; the first one, in the given order, among equals. A domain may be used with or without
/// its leader.
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
    // The remainder nearest to zero without remaining leaders and pods.
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
