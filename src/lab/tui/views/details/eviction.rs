//! Details of an eviction.

use crate::model::evictions::{Eviction, InvolvedWorkload};
use crate::state::State;
use crate::text::{age, clock_time};
use crate::theme::Role;
use crate::widgets::PageBuilder;
use crate::widgets::format::requests_text;

/// Writes the details of an eviction.
pub(crate) fn write(state: &State, e: &Eviction, doc: &mut PageBuilder<'_>) {
    let ago = age(state.data.now, Some(e.at));
    doc.field(
        "When",
        &format!("{} ({ago} ago)", clock_time(e.at, &state.env.zone)),
        Role::Text,
    );
    doc.field("Reason", &e.reason, Role::Bold);
    doc.field("", e.reason_text(), Role::Text);
    if !e.policy.is_empty() {
        doc.field("Policy", &e.policy, Role::Text);
        doc.field(
            "",
            "current policy of the preemptor's ClusterQueue",
            Role::Dim,
        );
    }
    doc.section("Evicted workload");
    involved_workload(state, &e.evicted, doc);
    if let Some(by) = &e.preemptor {
        doc.section("Preemptor");
        involved_workload(state, by, doc);
    }
    doc.section("Message");
    doc.text(&e.message, Role::Text);
}

fn involved_workload(state: &State, p: &InvolvedWorkload, doc: &mut PageBuilder<'_>) {
    doc.field("Workload", &p.display_name(), Role::Bold);
    if !p.owner.is_empty() {
        doc.field("Owner", &p.owner, Role::Text);
    }
    if !p.cluster_queue.is_empty() {
        doc.field("ClusterQueue", &p.cluster_queue, Role::Text);
    }
    if p.path.matches('/').count() > 1 {
        doc.field("Path", &p.path, Role::Text);
    }
    if let Some(priority) = p.priority {
        doc.field("Priority", &priority.to_string(), Role::Text);
    }
    if !p.requests.is_empty() {
        doc.field("Requests", &requests_text(&p.requests), Role::Text);
    }
    let now = match state.data.workloads.get(&p.key) {
        Some(wl) if wl.meta.uid == p.uid => {
            let reason = crate::model::workload::status_reason(wl, &state.data, &state.derived);
            format!("{}: {}", wl.state().as_str(), reason.line())
        }
        _ => "gone".to_owned(),
    };
    doc.field("Now", &now, Role::Text);
}
