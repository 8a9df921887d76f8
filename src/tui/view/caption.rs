//! What the selected row does not have room for, in one line.

use super::format::requests_text;
use crate::model::cohort_tree::QuotaNode;
use crate::model::queues::FlavorResource;
use crate::model::workload::status_reason;
use crate::operations::PresetState;
use crate::state::State;
use crate::text::{Amount, amount_text, first_sentence, resource_label, sanitize};
use crate::ui_state::RowId;

/// The line for the selected row; empty where there is nothing to add.
pub(super) fn caption(state: &State) -> String {
    if state.ui.page.is_some() {
        return String::new();
    }
    match state.ui.list().selected() {
        Some(id) => row_caption(state, id).unwrap_or_default(),
        None => String::new(),
    }
}

fn row_caption(state: &State, id: &RowId) -> Option<String> {
    Some(match id {
        RowId::Workload(key) => {
            let wl = state.data.workloads.get(key)?;
            let line = status_reason(wl, &state.data, &state.derived).line();
            let ns = &key.namespace;
            format!("{} in {ns}: {line}", wl.owner_text())
        }
        RowId::QuotaNode(QuotaNode::ClusterQueue(name)) => {
            let cq = state.data.cluster_queues.named(name)?;
            let inactive = cq.conds.when_false(kueue_lab_api::constants::ACTIVE);
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
            let mut text = e.victim.display_name();
            if let Some(p) = &e.preemptor {
                text = format!("{text} left for {}", p.display_name());
                if !p.requests.is_empty() {
                    text = format!("{text}, which asked for {}", requests_text(&p.requests));
                }
            }
            let policy = if e.policy.is_empty() {
                String::new()
            } else {
                format!(" ({})", e.policy)
            };
            format!("{text}: {}{policy}", e.reason_text())
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
            let board = state.presets.as_ref()?;
            let preset = board.presets.iter().find(|p| p.name == *name)?;
            match &preset.state {
                PresetState::Invalid {
                    diagnostics: faults,
                    ..
                } => {
                    let fault = faults.first()?;
                    sanitize(&format!("{}: {}", board.location(fault), fault.reason))
                }
                _ => first_sentence(&preset.description),
            }
        }
        RowId::Event(key) => state.data.events.get(key)?.message.clone(),
        RowId::QuotaNode(member @ QuotaNode::Cohort(name)) => {
            let queues = state.derived.cohort_tree.descendant_cluster_queues(member);
            format!("cohort {name} shares quota among {}", queues.join(", "))
        }
        RowId::Quota(member, fr) => quota_caption(state, member, fr),
        RowId::LocalQueue(key) => {
            let lq = state.data.local_queues.get(key)?;
            let status = lq.conds.when_false(kueue_lab_api::constants::ACTIVE);
            let why = status.map_or(String::new(), |c| format!(": {}", c.message));
            format!("{key} leads to ClusterQueue {}{why}", lq.cluster_queue)
        }
    })
}

/// What a bar of quota shows, in words.
fn quota_caption(state: &State, member: &QuotaNode, fr: &FlavorResource) -> String {
    let s = state.derived.cohort_tree.quota_status(member, fr);
    let text = |amount| amount_text(&fr.resource, amount);
    let own = match member {
        QuotaNode::ClusterQueue(_) => "its own",
        QuotaNode::Cohort(_) => "all",
    };
    let mut parts = vec![format!(
        "uses {} of {own} {}",
        text(s.usage),
        text(s.nominal)
    )];
    if !s.borrowed.is_zero() {
        parts.push(format!("{} of it borrowed", text(s.borrowed)));
    }
    if !s.lent_max.is_zero() {
        let least = if s.lent_min == s.lent_max {
            String::new()
        } else {
            format!("{} to ", text(s.lent_min))
        };
        parts.push(format!("others use {least}{} of its own", text(s.lent_max)));
    }
    parts.push(format!("{} free now", text(s.available.max(Amount::ZERO))));
    if s.potential_available != s.nominal {
        parts.push(format!("never more than {}", text(s.potential_available)));
    }
    format!(
        "{}, {} of {}: {}",
        member.name(),
        resource_label(&fr.resource),
        fr.flavor,
        parts.join(", ")
    )
}
