//! The caption of a quota row.

use crate::model::cohort_tree::QuotaNode;
use crate::model::queues::FlavorResource;
use crate::state::State;
use crate::text::{Amount, amount_text, resource_label};

/// The caption of a quota row: the values of its bar as text.
pub(super) fn quota_caption(state: &State, node: &QuotaNode, fr: &FlavorResource) -> String {
    let s = state.derived.cohort_tree.quota_status(node, fr);
    let text = |amount| amount_text(&fr.resource, amount);
    let own = match node {
        QuotaNode::ClusterQueue(_) => "nominal",
        QuotaNode::Cohort(_) => "subtree",
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
        parts.push(format!("{least}{} lent to others", text(s.lent_max)));
    }
    parts.push(format!("{} available", text(s.available.max(Amount::ZERO))));
    if s.potential_available != s.nominal {
        parts.push(format!("at most {}", text(s.potential_available)));
    }
    format!(
        "{}, {} of {}: {}",
        node.name(),
        resource_label(&fr.resource),
        fr.flavor,
        parts.join(", ")
    )
}
