//! Pages of text: details of a row made from what is watched, fetched documents, messages, help.

mod event;
mod eviction;
mod help;
mod node;
mod notifications;
mod page_builder;
mod preset;
mod queue;
mod quota_arithmetic;
mod topology_assignment;
mod workload;

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::canvas::Canvas;
use crate::model::cohort_tree::QuotaNode;
use crate::state::State;
use crate::text::wrap;
use crate::theme::Role;
use crate::ui_state::{Page, PageContent, PageKind, RowId};
use page_builder::PageBuilder;

/// The lines of a page that is made from the state.
pub fn lines(state: &State, kind: &PageKind, width: u16) -> Vec<Line<'static>> {
    let mut doc = PageBuilder::new(state, width);
    match kind {
        PageKind::Details(id) => details(state, id, &mut doc),
        PageKind::Notifications => notifications::write(state, &mut doc),
        PageKind::Help => help::write(&mut doc),
        PageKind::Describe(_) | PageKind::Yaml(_) | PageKind::Explain(_) => {}
    }
    doc.finish()
}

fn details(state: &State, id: &RowId, doc: &mut PageBuilder<'_>) {
    match id {
        RowId::Workload(key) => match state.data.workloads.get(key) {
            Some(wl) => workload::write(state, wl, doc),
            None => doc.not_found("Workload", &key.to_string()),
        },
        RowId::QuotaNode(QuotaNode::ClusterQueue(name))
        | RowId::Quota(QuotaNode::ClusterQueue(name), _) => {
            match state.data.cluster_queues.named(name) {
                Some(cq) => queue::cluster_queue(state, cq, doc),
                None => doc.not_found("ClusterQueue", name),
            }
        }
        RowId::QuotaNode(QuotaNode::Cohort(name)) | RowId::Quota(QuotaNode::Cohort(name), _) => {
            queue::cohort(state, name, doc);
        }
        RowId::LocalQueue(key) => match state.data.local_queues.get(key) {
            Some(lq) => queue::local_queue(state, lq, doc),
            None => doc.not_found("LocalQueue", &key.to_string()),
        },
        RowId::Node(name) => match state.data.nodes.named(name) {
            Some(found) => node::write(state, found, doc),
            None => doc.not_found("Node", name),
        },
        RowId::Eviction(uid, at) => match state.eviction(uid, *at) {
            Some(found) => eviction::write(state, found, doc),
            None => doc.not_found("eviction of", uid),
        },
        RowId::Preset(name) => preset::write(state, name, doc),
        RowId::Event(key) => match state.data.events.get(key) {
            Some(found) => event::write(state, found, doc),
            None => doc.not_found("Event", &key.to_string()),
        },
    }
}

/// The title of a page.
fn title(kind: &PageKind) -> String {
    match kind {
        PageKind::Details(id) => match id {
            RowId::Workload(key) => format!("Workload {key}"),
            RowId::QuotaNode(QuotaNode::ClusterQueue(n))
            | RowId::Quota(QuotaNode::ClusterQueue(n), _) => {
                format!("ClusterQueue {n}")
            }
            RowId::QuotaNode(QuotaNode::Cohort(n)) | RowId::Quota(QuotaNode::Cohort(n), _) => {
                format!("Cohort {n}")
            }
            RowId::LocalQueue(key) => format!("LocalQueue {key}"),
            RowId::Node(name) => format!("Node {name}"),
            RowId::Eviction(..) => "Eviction".to_owned(),
            RowId::Preset(name) => format!("Preset {name}"),
            RowId::Event(_) => "Event".to_owned(),
        },
        PageKind::Describe(object) => format!("{object} (described)"),
        PageKind::Yaml(object) => format!("{object} (YAML)"),
        PageKind::Explain(key) => format!("Why Workload {key} stands where it stands"),
        PageKind::Notifications => "Messages".to_owned(),
        PageKind::Help => "Keys and commands".to_owned(),
    }
}

/// Draws the window on an open page.
pub(super) fn draw(page: &Page, heading: Rect, area: Rect, canvas: &mut Canvas<'_>) {
    let total = page.content.len();
    let mut shown = format!(" {} ", title(&page.kind));
    if total > page.height && page.height > 0 {
        let last = (page.offset + page.height).min(total);
        shown.push_str(&format!("  {}-{last} of {total} ", page.offset + 1));
    }
    canvas.text(heading.x, heading.y, heading.width, &shown, Role::ActiveTab);
    let window = page.offset..(page.offset + usize::from(area.height)).min(total);
    match &page.content {
        PageContent::Live(lines) => {
            for (line, y) in lines[window].iter().zip(area.top()..area.bottom()) {
                canvas.line(area.x + 1, y, area.width.saturating_sub(2), line);
            }
        }
        PageContent::Fetched(_, broken) => {
            for (line, y) in broken.lines[window].iter().zip(area.top()..area.bottom()) {
                fetched_line(canvas, area, y, line);
            }
        }
        PageContent::Loading => {
            canvas.text(area.x + 1, area.y, area.width, "Fetching ...", Role::Dim);
        }
        PageContent::Failed(why) => {
            let room = usize::from(area.width.saturating_sub(2));
            for (line, y) in wrap(why, room).iter().zip(area.top()..area.bottom()) {
                canvas.text(area.x + 1, y, area.width, line, Role::Error);
            }
        }
    }
    canvas.scrollbar(area, page.offset, total);
}

/// A line of a fetched document; what stands before its first colon is a key.
fn fetched_line(canvas: &mut Canvas<'_>, area: Rect, y: u16, line: &str) {
    let room = area.width.saturating_sub(2);
    let body = line.trim_start_matches([' ', '-']);
    let lead = line.len() - body.len();
    let key = body
        .find(':')
        .filter(|at| !body[..*at].contains([' ', '"', '\'']));
    match key {
        Some(at) => {
            let (key, rest) = line.split_at(lead + at + 1);
            let used = canvas.text(area.x + 1, y, room, key, Role::Key);
            canvas.text(area.x + 1 + used, y, room - used, rest, Role::Text);
        }
        None => {
            canvas.text(area.x + 1, y, room, line, Role::Text);
        }
    }
}
