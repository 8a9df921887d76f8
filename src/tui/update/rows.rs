//! Which rows a view has, filtered and in order.

use std::cmp::Reverse;

use crate::model::cohort_tree::QuotaNode;
use crate::model::meta::Labels;
use crate::model::node::NodeRow;
use crate::model::workload::{WorkloadRow, WorkloadState};
use crate::model::{NamespacedName, Row};
use crate::state::State;
use crate::text::Amount;
use crate::ui_state::{Filter, RowId, Sort, SortBy, ViewId};

use super::NO_LABELS;

/// Rows of a view, and how many there would be without the filter.
pub(super) fn view_rows(state: &State, view: ViewId) -> (Vec<RowId>, usize) {
    let list = &state.ui.lists[view.index()];
    let filter = list.filter.as_ref();
    match view {
        ViewId::Queues => queues(state, filter),
        ViewId::Workloads => workloads(state, filter, list.sort),
        ViewId::Evictions => preemptions(state, filter),
        ViewId::Nodes => nodes(state, filter, list.sort),
        ViewId::Presets => presets(state, filter),
        ViewId::Events => events(state, filter, list.sort),
    }
}

fn matches_filter(filter: Option<&Filter>, text: impl FnOnce() -> String, labels: &Labels) -> bool {
    filter.is_none_or(|f| f.matches(&text(), labels))
}

/// The tree, branch by branch. With a filter, a branch stays when anything in it passes.
fn queues(state: &State, filter: Option<&Filter>) -> (Vec<RowId>, usize) {
    let mut rows = Vec::new();
    let mut all = 0;
    for root in state.derived.cohort_tree.roots() {
        branch(state, root, filter, &mut rows, &mut all);
    }
    (rows, all)
}

/// Adds the rows of a branch; says whether it has any.
fn branch(
    state: &State,
    member: &QuotaNode,
    filter: Option<&Filter>,
    rows: &mut Vec<RowId>,
    all: &mut usize,
) -> bool {
    let start = rows.len();
    rows.push(RowId::QuotaNode(member.clone()));
    *all += 1;
    let folded = state.ui.folded.contains(member) && filter.is_none();
    let mut below = false;
    let mut keep = true;
    match member {
        QuotaNode::Cohort(name) => {
            // A root shows what its whole tree shares, others what they add.
            let forest = &state.derived.cohort_tree;
            if !folded && forest.path(member).is_empty() {
                let pool = forest.resources(member).cloned();
                rows.extend(pool.map(|fr| RowId::Quota(member.clone(), fr)));
            } else if !folded {
                let cohort = state.data.cohorts.named(name);
                for (fr, _) in cohort.into_iter().flat_map(|c| &c.quotas) {
                    rows.push(RowId::Quota(member.clone(), fr.clone()));
                }
            }
            for child in state.derived.cohort_tree.children(member) {
                let mut hidden = Vec::new();
                let into = if folded { &mut hidden } else { &mut *rows };
                below |= branch(state, child, filter, into, all);
            }
            let labels = cohort_labels(state, name);
            keep = below || matches_filter(filter, || format!("cohort {name}"), labels);
        }
        QuotaNode::ClusterQueue(name) => {
            let Some(cq) = state.data.cluster_queues.named(name) else {
                rows.truncate(start);
                return false;
            };
            let queues: Vec<&NamespacedName> = state
                .data
                .local_queues_of(name)
                .map(Row::key)
                .filter(|key| state.shows_namespace(&key.namespace))
                .collect();
            if state.ui.namespace.is_some() && queues.is_empty() {
                keep = false;
            }
            let text = || {
                let locals: Vec<String> = queues.iter().map(ToString::to_string).collect();
                let flavors: Vec<&str> = cq.quotas.iter().map(|(f, _)| f.flavor.as_str()).collect();
                let cohort = cq.cohort.as_deref().unwrap_or_default();
                format!("{name} {cohort} {} {}", locals.join(" "), flavors.join(" "))
            };
            keep &= matches_filter(filter, text, &cq.meta.labels);
            if !folded {
                for (fr, _) in &cq.quotas {
                    rows.push(RowId::Quota(member.clone(), fr.clone()));
                }
                rows.extend(queues.into_iter().cloned().map(RowId::LocalQueue));
            }
        }
    }
    if !keep {
        rows.truncate(start);
    }
    keep
}

fn cohort_labels<'a>(state: &'a State, name: &str) -> &'a Labels {
    let cohort = state.data.cohorts.named(name);
    cohort.map_or(&NO_LABELS, |c| &c.meta.labels)
}

fn workloads(state: &State, filter: Option<&Filter>, sort: Option<Sort>) -> (Vec<RowId>, usize) {
    let mut all = 0;
    let mut found: Vec<(WorkloadState, &WorkloadRow)> = Vec::new();
    for wl in state.data.workloads.iter() {
        let at = wl.state();
        if !state.shows_namespace(&wl.key().namespace)
            || (state.ui.hide_finished && at.is_finished())
        {
            continue;
        }
        all += 1;
        let text = || {
            format!(
                "{} {} {} {} {} {}",
                wl.key(),
                at.as_str(),
                wl.queue,
                state.data.cluster_queue_of(wl).unwrap_or_default(),
                wl.priority_class.as_deref().unwrap_or_default(),
                wl.owner_text()
            )
        };
        if matches_filter(filter, text, &wl.meta.labels) {
            found.push((at, wl));
        }
    }
    let place = |wl: &WorkloadRow| {
        state
            .derived
            .position(wl.key())
            .map_or(usize::MAX, |p| p.number)
    };
    let born = |wl: &WorkloadRow| Reverse(wl.meta.created);
    match sort.map(|s| s.by) {
        Some(SortBy::Name) => {}
        Some(SortBy::Queue) => found.sort_by(|(_, a), (_, b)| {
            (&a.key().namespace, &a.queue).cmp(&(&b.key().namespace, &b.queue))
        }),
        Some(SortBy::Priority) => found.sort_by_key(|(_, wl)| (Reverse(wl.priority), born(wl))),
        Some(SortBy::Position) => found.sort_by_key(|(at, wl)| (place(wl), *at)),
        Some(SortBy::Age) => found.sort_by_key(|(_, wl)| born(wl)),
        _ => found.sort_by_cached_key(|(at, wl)| {
            let line = state.data.cluster_queue_of(wl).unwrap_or_default();
            match at {
                WorkloadState::Pending | WorkloadState::Evicted => {
                    (*at, line, place(wl), Reverse(wl.priority), born(wl))
                }
                over if over.is_finished() => (*at, "", 0, Reverse(0), born(wl)),
                _ => (*at, line, 0, Reverse(wl.priority), born(wl)),
            }
        }),
    }
    let mut rows: Vec<RowId> = found
        .into_iter()
        .map(|(_, wl)| RowId::Workload(wl.key().clone()))
        .collect();
    apply_direction(&mut rows, sort);
    (rows, all)
}

fn preemptions(state: &State, filter: Option<&Filter>) -> (Vec<RowId>, usize) {
    let mut rows = Vec::new();
    let mut all = 0;
    for e in state.data.evictions.newest_first() {
        if !state.shows_namespace(&e.victim.key.namespace) {
            continue;
        }
        all += 1;
        let text = || {
            let by = e.preemptor.as_ref();
            format!(
                "{} {} {} {} {} {}",
                e.victim.display_name(),
                e.victim.cluster_queue,
                by.map(|p| p.display_name()).unwrap_or_default(),
                by.map_or("", |p| p.cluster_queue.as_str()),
                e.reason,
                e.reason_text()
            )
        };
        if matches_filter(filter, text, &NO_LABELS) {
            rows.push(RowId::Eviction(e.victim.uid.clone(), e.at));
        }
    }
    (rows, all)
}

fn nodes(state: &State, filter: Option<&Filter>, sort: Option<Sort>) -> (Vec<RowId>, usize) {
    let text = |node: &NodeRow| {
        format!(
            "{} {} {} {}",
            node.key().name,
            node.state(),
            node.taints.join(" "),
            node.gpu_product().unwrap_or_default()
        )
    };
    let mut found: Vec<&NodeRow> = state
        .data
        .nodes
        .iter()
        .filter(|n| matches_filter(filter, || text(n), &n.meta.labels))
        .collect();
    match sort.map(|s| s.by) {
        Some(SortBy::Age) => found.sort_by_key(|n| Reverse(n.meta.created)),
        Some(SortBy::DevicesUsed) => found.sort_by_cached_key(|n| {
            let occupied = state.derived.allocated_on(&n.key().name);
            let on = |r: &str| occupied.get(r).copied().unwrap_or_default();
            let devices: Amount = n.devices().map(on).sum();
            Reverse((devices, on("cpu")))
        }),
        _ => {}
    }
    let mut rows: Vec<RowId> = found
        .into_iter()
        .map(|n| RowId::Node(n.key().name.clone()))
        .collect();
    apply_direction(&mut rows, sort);
    (rows, state.data.nodes.len())
}

fn presets(state: &State, filter: Option<&Filter>) -> (Vec<RowId>, usize) {
    let Some(board) = &state.presets else {
        return (Vec::new(), 0);
    };
    let rows = board
        .presets
        .iter()
        .filter(|p| {
            matches_filter(
                filter,
                || format!("{} {}", p.name, p.description),
                &NO_LABELS,
            )
        })
        .map(|p| RowId::Preset(p.name.clone()))
        .collect();
    (rows, board.presets.len())
}

fn events(state: &State, filter: Option<&Filter>, sort: Option<Sort>) -> (Vec<RowId>, usize) {
    let mut all = 0;
    let mut found = Vec::new();
    for e in state.data.events.newest_first() {
        if !e.object.namespace.is_empty() && !state.shows_namespace(&e.object.namespace) {
            continue;
        }
        all += 1;
        let text = || {
            format!(
                "{} {} {} {} {} {}",
                if e.warning { "Warning" } else { "Normal" },
                e.reason,
                e.kind,
                e.object,
                e.source,
                e.message
            )
        };
        if matches_filter(filter, text, &NO_LABELS) {
            found.push(e);
        }
    }
    if sort.is_some_and(|s| s.by == SortBy::Warning) {
        found.sort_by_key(|e| !e.warning);
    } else if sort.is_some_and(|s| s.by == SortBy::Name) {
        found.sort_by(|a, b| (&a.object, &a.kind).cmp(&(&b.object, &b.kind)));
    }
    let mut rows: Vec<RowId> = found
        .into_iter()
        .map(|e| RowId::Event(e.key.clone()))
        .collect();
    apply_direction(&mut rows, sort);
    (rows, all)
}

/// Turns the rows round where the order asks for it.
fn apply_direction(rows: &mut [RowId], sort: Option<Sort>) {
    if sort.is_some_and(|s| s.reversed) {
        rows.reverse();
    }
}
