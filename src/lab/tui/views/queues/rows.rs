//! The rows of the cohort tree.

use super::QueueRow;
use crate::model::cohort_tree::QuotaNode;
use crate::model::meta::Labels;
use crate::model::{ObjectKey, Row};
use crate::state::{State, ViewId};
use crate::views::row_query::NO_LABELS;
use crate::views::{RowQuery, ViewRows};

/// The rows of the tree. With a filter, a branch is kept when a node in it passes.
pub(super) fn rows(state: &State, query: RowQuery<'_>) -> ViewRows {
    let (mut rows, mut unfiltered) = (Vec::new(), 0);
    for root in state.derived.cohort_tree.roots() {
        add_branch(state, root, query, &mut rows, &mut unfiltered);
    }
    query.in_direction(ViewId::Queues, rows.into_iter(), unfiltered)
}

/// Adds the rows of a branch; returns whether it has any.
fn add_branch(
    state: &State,
    node: &QuotaNode,
    query: RowQuery<'_>,
    rows: &mut Vec<QueueRow>,
    unfiltered: &mut usize,
) -> bool {
    let start = rows.len();
    rows.push(QueueRow::Node(node.clone()));
    *unfiltered += 1;
    let folded = state.ui.folded.contains(node) && !query.is_filtered();
    let mut below = false;
    let mut keep = true;
    match node {
        QuotaNode::Cohort(name) => {
            // A root shows the quota of its whole tree, other Cohorts their own.
            let tree = &state.derived.cohort_tree;
            if !folded && tree.path(node).is_empty() {
                let resources = tree.resources(node).cloned();
                rows.extend(resources.map(|fr| QueueRow::Quota(node.clone(), fr)));
            } else if !folded {
                let cohort = state.data.cohorts.named(name);
                for (fr, _) in cohort.into_iter().flat_map(|c| &c.quotas) {
                    rows.push(QueueRow::Quota(node.clone(), fr.clone()));
                }
            }
            for child in tree.children(node) {
                let mut hidden = Vec::new();
                let into = if folded { &mut hidden } else { &mut *rows };
                below |= add_branch(state, child, query, into, unfiltered);
            }
            let labels = cohort_labels(state, name);
            keep = below || query.passes(|| format!("cohort {name}"), labels);
        }
        QuotaNode::ClusterQueue(name) => {
            let Some(cq) = state.data.cluster_queues.named(name) else {
                rows.truncate(start);
                return false;
            };
            let queues: Vec<&ObjectKey> = state
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
            keep &= query.passes(text, &cq.meta.labels);
            if !folded {
                for (fr, _) in &cq.quotas {
                    rows.push(QueueRow::Quota(node.clone(), fr.clone()));
                }
                rows.extend(queues.into_iter().cloned().map(QueueRow::LocalQueue));
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
