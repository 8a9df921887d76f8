//! Going from a row to what it has to do with: from a queue or node to its workloads, from a
//! workload to its queue.

use crate::model::cohort_tree::QuotaNode;
use crate::model::{NamespacedName, Row};
use crate::state::State;
use crate::ui_state::{Filter, RowId, Severity, ViewId};

use super::{navigation, notify, refresh};

/// The most workloads of a node that are picked one by one.
const MAX_NAMES: usize = 40;

/// Goes to the workloads of the selected queue or node, or to the one workload that an eviction or
/// Event is about.
pub(super) fn go_to_workloads(state: &mut State) {
    let Some(id) = state.current_row().cloned() else {
        return;
    };
    match id {
        RowId::QuotaNode(member) | RowId::Quota(member, _) => {
            let names = match &member {
                QuotaNode::ClusterQueue(name) => vec![name.as_str()],
                QuotaNode::Cohort(_) => {
                    state.derived.cohort_tree.descendant_cluster_queues(&member)
                }
            };
            let text = any_name_pattern(&names);
            open_filtered_workloads(state, &text);
        }
        RowId::LocalQueue(key) => {
            let text = any_name_pattern(&[&key.name]);
            open_filtered_workloads(state, &text);
        }
        RowId::Node(name) => {
            let mut names: Vec<&str> = state
                .derived
                .pods_on(&name)
                .iter()
                .filter_map(|pod| state.derived.workload_of(pod))
                .map(|wl| wl.name.as_str())
                .collect();
            names.sort_unstable();
            names.dedup();
            names.truncate(MAX_NAMES);
            if names.is_empty() {
                notify(state, Severity::Info, format!("no workload is on {name}"));
            } else {
                let text = any_name_pattern(&names);
                open_filtered_workloads(state, &text);
            }
        }
        RowId::Eviction(uid, at) => {
            let key = state.eviction(&uid, at).map(|e| e.victim.key.clone());
            open_workload(state, key);
        }
        RowId::Event(key) => {
            let about = state.data.events.get(&key);
            let key = about.and_then(|e| match e.kind.as_str() {
                "Workload" => Some(e.object.clone()),
                "Pod" => state.derived.workload_of(&e.object).cloned(),
                kind => {
                    let mut all = state.data.workloads.iter();
                    let made_for = |o: &crate::model::workload::Owner| {
                        o.kind == kind && o.name == e.object.name
                    };
                    all.find(|wl| {
                        wl.key().namespace == e.object.namespace && wl.owners.iter().any(made_for)
                    })
                    .map(|wl| wl.key().clone())
                }
            });
            open_workload(state, key);
        }
        RowId::Workload(_) | RowId::Preset(_) => {}
    }
}

/// Goes to the ClusterQueue of the selected workload, or to the one an eviction gave quota to.
pub(super) fn go_to_cluster_queue(state: &mut State) {
    let name = match state.current_row() {
        Some(RowId::Workload(key)) => {
            let wl = state.data.workloads.get(key);
            wl.and_then(|wl| state.data.cluster_queue_of(wl))
        }
        Some(RowId::Eviction(uid, at)) => state.eviction(uid, *at).map(|e| {
            let taker = e.preemptor.as_ref().map(|p| p.cluster_queue.as_str());
            taker.unwrap_or(&e.victim.cluster_queue)
        }),
        _ => None,
    };
    let Some(name) = name.filter(|n| !n.is_empty()).map(str::to_owned) else {
        notify(state, Severity::Warning, "its ClusterQueue is not known");
        return;
    };
    let member = QuotaNode::ClusterQueue(name);
    let above: Vec<QuotaNode> = state
        .derived
        .cohort_tree
        .path(&member)
        .into_iter()
        .map(|cohort| QuotaNode::Cohort(cohort.to_owned()))
        .collect();
    for cohort in above {
        state.ui.folded.remove(&cohort);
    }
    navigation::open_view(state, ViewId::Queues);
    state.ui.list_mut().filter = None;
    state.ui.list_mut().select_row(RowId::QuotaNode(member));
    refresh(state);
}

/// A filter text that finds any of these names.
fn any_name_pattern(names: &[&str]) -> String {
    let escaped: Vec<String> = names.iter().map(|n| regex::escape(n)).collect();
    match escaped.as_slice() {
        // A plain name needs no care about signs.
        [_] => names.join(""),
        many => many.join("|"),
    }
}

/// Goes to the workloads with a filter.
fn open_filtered_workloads(state: &mut State, text: &str) {
    navigation::open_view(state, ViewId::Workloads);
    state.ui.list_mut().filter = Filter::parse(text).ok().flatten();
}

/// Goes to one workload.
fn open_workload(state: &mut State, key: Option<NamespacedName>) {
    let key = key.filter(|key| state.data.workloads.get(key).is_some());
    let Some(key) = key else {
        notify(state, Severity::Info, "that workload is gone");
        return;
    };
    navigation::open_view(state, ViewId::Workloads);
    state.ui.page = None;
    let over = state.data.workloads.get(&key);
    state.ui.hide_finished &= !over.is_some_and(|wl| wl.state().is_finished());
    state.ui.list_mut().filter = None;
    state.ui.list_mut().select_row(RowId::Workload(key));
    refresh(state);
}
