//! [`priority_change`]: the lowest priority that admits workloads.

use std::collections::BTreeSet;

use super::admitting_change::{AdmittingChange, PriorityClass};
use super::changed_state::ChangedState;
use super::verified_change::VerifiedChange;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::workload::predicates;

/// The lowest priority, above one of another workload of the same cohorts, with which the workloads are
/// admitted, and the lowest class of at least this priority.
///
/// A higher priority admits at least as much in almost all states, so that the lowest one is found by
/// bisection. Every answer is verified.
pub(super) fn priority_change(
    state: &ChangedState<'_>,
    classes: &[PriorityClass],
) -> Option<VerifiedChange> {
    let priority = |wl: &Workload| wl.spec.priority.unwrap_or(0);
    let from = state.workloads.iter().map(|wl| priority(wl)).max()?;
    let queues = state.tree_of_workloads();
    let engine = state.base.engine();
    let others = engine.workloads().filter(|wl| {
        let queue = state.cluster_queue_of(wl);
        let is_changed = state
            .workloads
            .iter()
            .any(|changed| predicates::key(changed) == predicates::key(wl));
        !is_changed
            && !predicates::is_finished(wl)
            && queue.is_some_and(|queue| queues.contains(&queue))
    });
    let above: BTreeSet<i32> = others
        .map(|wl| priority(wl))
        .filter(|other| *other >= from)
        .filter_map(|other| other.checked_add(1))
        .collect();
    let above: Vec<i32> = above.into_iter().collect();
    let preemptions = |to: i32| {
        let adapt = |wl: &mut Workload| wl.spec.priority = Some(priority(wl).max(to));
        state.preemptions_if_admitted(|_, _| {}, adapt)
    };
    let admits = |to: i32| preemptions(to).is_some();
    let mut found = above.len().checked_sub(1)?;
    if !admits(*above.get(found)?) {
        return None;
    }
    let mut below = 0;
    while below < found {
        let middle = below + (found - below) / 2;
        match admits(*above.get(middle)?) {
            true => found = middle,
            false => below = middle + 1,
        }
    }
    let to = *above.get(found)?;
    let class = classes
        .iter()
        .filter(|class| class.value >= to)
        .min_by_key(|class| (class.value, &class.name));
    let class = class.filter(|class| class.value == to || admits(class.value));
    Some(VerifiedChange {
        preemptions: preemptions(class.map_or(to, |class| class.value))?,
        change: AdmittingChange::Priority {
            from,
            to,
            class: class.cloned(),
        },
    })
}
