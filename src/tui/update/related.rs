//! Going from a row to what it has to do with: from a queue or node to its workloads, from a
//! workload to its queue.

use crate::model::quota::Member;
use crate::model::{Key, Row};
use crate::state::State;
use crate::ui::{Filter, RowId, Tone, ViewId};

use super::{open, say, settle};

/// The most workloads of a node that are picked one by one.
const MOST: usize = 40;

/// Goes to the workloads of the selected queue or node, or to the one workload that an eviction or
/// Event is about.
pub(super) fn workloads(state: &mut State) {
    let Some(id) = state.subject().cloned() else {
        return;
    };
    match id {
        RowId::Member(member) | RowId::Quota(member, _) => {
            let names = match &member {
                Member::ClusterQueue(name) => vec![name.as_str()],
                Member::Cohort(_) => state.derived.forest.queues_below(&member),
            };
            let text = any_of(&names);
            narrowed(state, &text);
        }
        RowId::LocalQueue(key) => {
            let text = any_of(&[&key.name]);
            narrowed(state, &text);
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
            names.truncate(MOST);
            if names.is_empty() {
                say(state, Tone::Done, format!("no workload is on {name}"));
            } else {
                let text = any_of(&names);
                narrowed(state, &text);
            }
        }
        RowId::Eviction(uid, at) => {
            let key = state.eviction(&uid, at).map(|e| e.victim.key.clone());
            to_one(state, key);
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
            to_one(state, key);
        }
        RowId::Workload(_) | RowId::Preset(_) => {}
    }
}

/// Goes to the ClusterQueue of the selected workload, or to the one an eviction gave quota to.
pub(super) fn queue(state: &mut State) {
    let name = match state.subject() {
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
        say(state, Tone::Warning, "its ClusterQueue is not known");
        return;
    };
    let member = Member::ClusterQueue(name);
    let above: Vec<Member> = state
        .derived
        .forest
        .path(&member)
        .into_iter()
        .map(|cohort| Member::Cohort(cohort.to_owned()))
        .collect();
    for cohort in above {
        state.ui.folded.remove(&cohort);
    }
    open::view(state, ViewId::Queues);
    state.ui.list_mut().filter = None;
    state.ui.list_mut().seek(RowId::Member(member));
    settle(state);
}

/// A filter text that finds any of these names.
fn any_of(names: &[&str]) -> String {
    let escaped: Vec<String> = names.iter().map(|n| regex::escape(n)).collect();
    match escaped.as_slice() {
        // A plain name needs no care about signs.
        [_] => names.join(""),
        many => many.join("|"),
    }
}

/// Goes to the workloads with a filter.
fn narrowed(state: &mut State, text: &str) {
    open::view(state, ViewId::Workloads);
    state.ui.list_mut().filter = Filter::parse(text).ok().flatten();
}

/// Goes to one workload.
fn to_one(state: &mut State, key: Option<Key>) {
    let key = key.filter(|key| state.data.workloads.get(key).is_some());
    let Some(key) = key else {
        say(state, Tone::Done, "that workload is gone");
        return;
    };
    open::view(state, ViewId::Workloads);
    state.ui.page = None;
    let over = state.data.workloads.get(&key);
    state.ui.hide_over &= !over.is_some_and(|wl| wl.state().over());
    state.ui.list_mut().filter = None;
    state.ui.list_mut().seek(RowId::Workload(key));
    settle(state);
}
