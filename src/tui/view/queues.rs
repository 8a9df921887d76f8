//! The view of queues: the cohort tree with bars of quota.

use ratatui::layout::Rect;
use ratatui::text::Span;

use super::canvas::{Canvas, spans_width};
use super::format::{cluster_queue_status, local_queue_status, share_text};
use super::pending_overview;
use super::widget::{quota_bar, quota_status_text};
use crate::model::NamespacedName;
use crate::model::cohort_tree::QuotaNode;
use crate::model::queues::{FlavorResource, WorkloadCounts};
use crate::state::State;
use crate::text::{pad, truncate_middle};
use crate::theme::Role;
use crate::ui_state::RowId;

/// Columns of a count.
const COUNT: usize = 5;

/// Where the parts of a line stand.
struct LineLayout {
    name: u16,
    bar: u16,
    shares: bool,
}

impl LineLayout {
    fn of(state: &State, width: u16) -> Self {
        let name = (width * 2 / 5).clamp(24, 48).min(width);
        let bar = (width.saturating_sub(name) / 3).clamp(6, 30);
        let shares = state
            .data
            .cluster_queues
            .iter()
            .any(|q| q.share.weighted_share.is_some());
        Self { name, bar, shares }
    }
}

/// Draws the window on the tree.
pub(super) fn draw(state: &State, heading: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    let plan = LineLayout::of(state, rows.width);
    let share = if plan.shares { "    SHARE" } else { "" };
    canvas.text(
        heading.x + 2,
        heading.y,
        plan.name.saturating_sub(3),
        &pad(
            "COHORT / QUEUE",
            usize::from(plan.name.saturating_sub(3)),
            false,
        ),
        Role::Heading,
    );
    canvas.text(
        heading.x + plan.name,
        heading.y,
        rows.width.saturating_sub(plan.name + 1),
        &format!(" PEND  RESV   ADM {share}  STATUS"),
        Role::Heading,
    );
    legend(canvas, heading, plan.name + 26 + share.len() as u16);
    let list = state.ui.list();
    for ((at, id), y) in list.visible_rows().zip(rows.top()..rows.bottom()) {
        let (name, rest) = line(state, canvas, id, &plan);
        let room = plan.name.saturating_sub(3);
        canvas.spans(rows.x + 2, y, room, &name);
        let x = rows.x + plan.name;
        canvas.spans(x, y, rows.width.saturating_sub(plan.name + 1), &rest);
        if at == list.selected_index {
            canvas.text(rows.x, y, 1, canvas.glyphs.highlight, Role::Bold);
            canvas.select(Rect {
                y,
                height: 1,
                ..rows
            });
        }
    }
    canvas.scrollbar(rows, list.offset, list.rows.len());
    let used = (list.rows.len() as u16).min(rows.height);
    if list.rows.len() < usize::from(rows.height) {
        let below = Rect {
            y: rows.y + used,
            height: rows.height - used,
            ..rows
        };
        pending_overview::draw(state, below, canvas);
    }
}

/// What the signs in bars mean, at the right of the headings where those leave room.
fn legend(canvas: &mut Canvas<'_>, heading: Rect, taken: u16) {
    let g = canvas.glyphs;
    let mut spans = Vec::new();
    for (sign, word, role) in [
        (g.used, " used  ", Role::Used),
        (g.borrowed, " borrowed  ", Role::Borrowed),
        (g.lent, " lent", Role::Lent),
    ] {
        spans.push(canvas.span(sign, role));
        spans.push(canvas.span(word, Role::Dim));
    }
    let wide = spans_width(&spans) as u16 + 2;
    if heading.width >= taken + wide {
        canvas.spans(heading.right() - wide, heading.y, wide, &spans);
    }
}

/// The two halves of a line.
fn line(
    state: &State,
    canvas: &Canvas<'_>,
    id: &RowId,
    plan: &LineLayout,
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    match id {
        RowId::QuotaNode(member) => (
            name_spans(state, canvas, member, plan),
            status_spans(state, canvas, member, plan),
        ),
        RowId::Quota(member, fr) => quota(state, canvas, member, fr, plan),
        RowId::LocalQueue(key) => local_queue(state, canvas, key, plan),
        _ => (Vec::new(), Vec::new()),
    }
}

fn indent(state: &State, member: &QuotaNode) -> String {
    "  ".repeat(state.derived.cohort_tree.path(member).len().min(8))
}

fn name_spans(
    state: &State,
    canvas: &Canvas<'_>,
    member: &QuotaNode,
    plan: &LineLayout,
) -> Vec<Span<'static>> {
    let g = canvas.glyphs;
    let sign = if state.ui.folded.contains(member) {
        g.collapsed
    } else {
        g.expanded
    };
    let lead = format!("{}{sign} ", indent(state, member));
    let word = match member {
        QuotaNode::Cohort(_) => "cohort ",
        QuotaNode::ClusterQueue(_) => "",
    };
    let room = usize::from(plan.name).saturating_sub(4 + lead.chars().count() + word.len());
    vec![
        canvas.span(lead, Role::Text),
        canvas.span(word, Role::Dim),
        canvas.span(truncate_middle(member.name(), room, g.ellipsis), Role::Bold),
    ]
}

fn status_spans(
    state: &State,
    canvas: &Canvas<'_>,
    member: &QuotaNode,
    plan: &LineLayout,
) -> Vec<Span<'static>> {
    let forest = &state.derived.cohort_tree;
    let endless = canvas.glyphs.infinity;
    let (counts, share, status, role) = match member {
        QuotaNode::ClusterQueue(name) => {
            let Some(cq) = state.data.cluster_queues.named(name) else {
                return Vec::new();
            };
            let (status, role) = cluster_queue_status(cq);
            (cq.counts, share_text(&cq.share, endless), status, role)
        }
        QuotaNode::Cohort(name) => {
            let mut sum = WorkloadCounts::default();
            for queue in forest.descendant_cluster_queues(member) {
                if let Some(cq) = state.data.cluster_queues.named(queue) {
                    sum.pending += cq.counts.pending;
                    sum.reserving += cq.counts.reserving;
                    sum.admitted += cq.counts.admitted;
                }
            }
            let cohort = state.data.cohorts.named(name);
            let share = cohort.map(|c| share_text(&c.share, endless));
            let (status, role) = if forest.in_cycle(member) {
                ("in a circle of cohorts: admits nothing", Role::Error)
            } else if forest.exists(member) {
                ("", Role::Text)
            } else {
                ("implicit", Role::Dim)
            };
            (sum, share.unwrap_or_default(), status.to_owned(), role)
        }
    };
    let mut spans = count_spans(canvas, counts);
    if plan.shares {
        spans.push(canvas.span(format!(" {share:>8}"), Role::Text));
    }
    spans.push(canvas.span(format!("  {status}"), role));
    spans
}

fn count_spans(canvas: &Canvas<'_>, counts: WorkloadCounts) -> Vec<Span<'static>> {
    [
        (counts.pending, Role::Waiting),
        (counts.reserving, Role::InProgress),
        (counts.admitted, Role::Success),
    ]
    .into_iter()
    .map(|(n, role)| {
        let role = if n == 0 { Role::Dim } else { role };
        canvas.span(format!("{n:>COUNT$} "), role)
    })
    .collect()
}

fn quota(
    state: &State,
    canvas: &Canvas<'_>,
    member: &QuotaNode,
    fr: &FlavorResource,
    plan: &LineLayout,
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let standing = state.derived.cohort_tree.quota_status(member, fr);
    let lead = format!("{}    ", indent(state, member));
    let label = crate::text::resource_label(&fr.resource);
    let taken = 4 + lead.len() + crate::text::width(label);
    let room = usize::from(plan.name).saturating_sub(taken);
    let name = vec![
        canvas.span(lead, Role::Text),
        canvas.span(format!("{label} "), Role::Text),
        canvas.span(
            truncate_middle(&fr.flavor, room, canvas.glyphs.ellipsis),
            Role::Dim,
        ),
    ];
    let mut rest = quota_bar(canvas, &standing, plan.bar);
    let blank = usize::from(plan.bar).saturating_sub(spans_width(&rest));
    rest.push(canvas.span(" ".repeat(blank + 1), Role::Text));
    rest.push(canvas.span(quota_status_text(&fr.resource, &standing), Role::Text));
    (name, rest)
}

fn local_queue(
    state: &State,
    canvas: &Canvas<'_>,
    key: &NamespacedName,
    plan: &LineLayout,
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let Some(lq) = state.data.local_queues.get(key) else {
        return (Vec::new(), Vec::new());
    };
    let member = QuotaNode::ClusterQueue(lq.cluster_queue.clone());
    let lead = format!("{}    ", indent(state, &member));
    let room = usize::from(plan.name).saturating_sub(7 + lead.len());
    let name = vec![
        canvas.span(format!("{lead}{} ", canvas.glyphs.arrow), Role::Dim),
        canvas.span(
            truncate_middle(&key.to_string(), room, canvas.glyphs.ellipsis),
            Role::Text,
        ),
    ];
    let (status, role) = local_queue_status(lq);
    let mut rest = count_spans(canvas, lq.counts);
    if plan.shares {
        rest.push(canvas.span(" ".repeat(9), Role::Text));
    }
    rest.push(canvas.span(format!("  {status}"), role));
    (name, rest)
}
