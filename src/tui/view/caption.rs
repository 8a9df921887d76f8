//! What the selected row does not have room for, in one line.

use super::words::requests_text;
use crate::tui::actions::PresetState;
use crate::tui::model::quota::Member;
use crate::tui::model::workload::why;
use crate::tui::state::State;
use crate::tui::text::clean;
use crate::tui::ui::RowId;

/// The line for the selected row; empty where there is nothing to add.
pub(super) fn of(state: &State) -> String {
    if state.ui.page.is_some() {
        return String::new();
    }
    match state.ui.list().selected() {
        Some(id) => about(state, id).unwrap_or_default(),
        None => String::new(),
    }
}

fn about(state: &State, id: &RowId) -> Option<String> {
    Some(match id {
        RowId::Workload(key) => {
            let wl = state.data.workloads.get(key)?;
            let line = why(wl, &state.data, &state.derived).line();
            format!("{}: {line}", wl.owner_text())
        }
        RowId::Member(Member::ClusterQueue(name)) => {
            let cq = state.data.cluster_queues.named(name)?;
            let inactive = cq.conds.when_false(crate::api::constants::ACTIVE);
            match inactive {
                Some(c) => format!("{name}: {}", c.message),
                None => format!(
                    "{name}: preempts within the queue: {}, reclaims in the cohort: {}",
                    cq.preemption.within_cluster_queue(),
                    cq.preemption.reclaim_within_cohort()
                ),
            }
        }
        RowId::Eviction(uid, at) => {
            let e = state.eviction(uid, *at)?;
            let mut text = e.victim.shown();
            if let Some(p) = &e.preemptor {
                text = format!("{text} left for {}", p.shown());
                if !p.requests.is_empty() {
                    text = format!("{text}, which asked for {}", requests_text(&p.requests));
                }
            }
            let policy = if e.policy.is_empty() {
                String::new()
            } else {
                format!(" ({})", e.policy)
            };
            format!("{text}: {}{policy}", e.cause())
        }
        RowId::Node(name) => {
            let node = state.data.nodes.named(name)?;
            let mut parts: Vec<String> =
                node.gpu_product().map(str::to_owned).into_iter().collect();
            if !node.taints.is_empty() {
                parts.push(format!("taints {}", node.taints.join(" ")));
            }
            format!("{name}: {}", parts.join(", "))
        }
        RowId::Preset(name) => {
            let mut all = state.presets.iter().flat_map(|b| &b.presets);
            let preset = all.find(|p| p.name == *name)?;
            match &preset.state {
                PresetState::Broken { faults, .. } => {
                    let fault = faults.first()?;
                    clean(&format!("{}: {}", fault.place(), fault.reason))
                }
                _ => clean(preset.teaches.lines().next().unwrap_or_default()),
            }
        }
        RowId::Event(key) => state.data.events.get(key)?.message.clone(),
        RowId::Member(Member::Cohort(_)) | RowId::Quota(..) | RowId::LocalQueue(_) => return None,
    })
}
