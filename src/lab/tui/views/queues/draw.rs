//! Draws the cohort tree with quota bars.

use ratatui::layout::Rect;
use ratatui::text::Span;

use super::QueueRow;
use crate::model::ObjectKey;
use crate::model::cohort_tree::QuotaNode;
use crate::model::queues::{FlavorResource, WorkloadCounts};
use crate::state::{State, TypedList};
use crate::text::{pad, truncate_middle};
use crate::theme::Role;
use crate::widgets::format::{cluster_queue_status, local_queue_status, share_text};
use crate::widgets::table::ListArea;
use crate::widgets::{Canvas, quota_bar, quota_status_text, spans_width};

/// Columns of a count.
const COUNT: usize = 5;

/// The widths of the parts of a line.
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

/// Draws the column headings and the visible rows.
pub(super) fn draw(
    state: &State,
    area: ListArea,
    tree: TypedList<'_, QueueRow>,
    canvas: &mut Canvas<'_>,
) {
    let ListArea { heading, rows } = area;
    let layout = LineLayout::of(state, rows.width);
    let share = if layout.shares { "    SHARE" } else { "" };
    canvas.text(
        heading.x + 2,
        heading.y,
        layout.name.saturating_sub(3),
        &pad(
            "COHORT / QUEUE",
            usize::from(layout.name.saturating_sub(3)),
            false,
        ),
        Role::Heading,
    );
    canvas.text(
        heading.x + layout.name,
        heading.y,
        rows.width.saturating_sub(layout.name + 1),
        &format!(" PEND  RESV   ADM {share}  STATUS"),
        Role::Heading,
    );
    legend(canvas, heading, layout.name + 26 + share.len() as u16);
    let list = tree.state;
    for ((at, row), y) in tree.visible_rows().zip(rows.top()..rows.bottom()) {
        let (name, rest) = line(state, canvas, row, &layout);
        let max_width = layout.name.saturating_sub(3);
        canvas.spans(rows.x + 2, y, max_width, &name);
        let x = rows.x + layout.name;
        canvas.spans(x, y, rows.width.saturating_sub(layout.name + 1), &rest);
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
}

/// The legend of the quota bars, at the right of the headings if it fits.
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
    row: &QueueRow,
    layout: &LineLayout,
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    match row {
        QueueRow::Node(node) => (
            name_spans(state, canvas, node, layout),
            status_spans(state, canvas, node, layout),
        ),
        QueueRow::Quota(node, fr) => quota(state, canvas, node, fr, layout),
        QueueRow::LocalQueue(key) => local_queue(state, canvas, key, layout),
    }
}

fn indent(state: &State, node: &QuotaNode) -> String {
    "  ".repeat(state.derived.cohort_tree.path(node).len().min(8))
}

fn name_spans(
    state: &State,
    canvas: &Canvas<'_>,
    node: &QuotaNode,
    layout: &LineLayout,
) -> Vec<Span<'static>> {
    let g = canvas.glyphs;
    let sign = if state.ui.folded.contains(node) {
        g.collapsed
    } else {
        g.expanded
    };
    let lead = format!("{}{sign} ", indent(state, node));
    let word = match node {
        QuotaNode::Cohort(_) => "cohort ",
        QuotaNode::ClusterQueue(_) => "",
    };
    let max_width = usize::from(layout.name).saturating_sub(4 + lead.chars().count() + word.len());
    vec![
        canvas.span(lead, Role::Text),
        canvas.span(word, Role::Dim),
        canvas.span(
            truncate_middle(node.name(), max_width, g.ellipsis),
            Role::Bold,
        ),
    ]
}

fn status_spans(
    state: &State,
    canvas: &Canvas<'_>,
    node: &QuotaNode,
    layout: &LineLayout,
) -> Vec<Span<'static>> {
    let tree = &state.derived.cohort_tree;
    let endless = canvas.glyphs.infinity;
    let (counts, share, status, role) = match node {
        QuotaNode::ClusterQueue(name) => {
            let Some(cq) = state.data.cluster_queues.named(name) else {
                return Vec::new();
            };
            let (status, role) = cluster_queue_status(cq);
            (cq.counts, share_text(&cq.share, endless), status, role)
        }
        QuotaNode::Cohort(name) => {
            let mut sum = WorkloadCounts::default();
            for queue in tree.descendant_cluster_queues(node) {
                if let Some(cq) = state.data.cluster_queues.named(queue) {
                    sum.pending += cq.counts.pending;
                    sum.reserving += cq.counts.reserving;
                    sum.admitted += cq.counts.admitted;
                }
            }
            let cohort = state.data.cohorts.named(name);
            let share = cohort.map(|c| share_text(&c.share, endless));
            let (status, role) = if tree.in_cycle(node) {
                ("in a cycle of Cohorts: admits nothing", Role::Error)
            } else if tree.exists(node) {
                ("", Role::Text)
            } else {
                ("implicit", Role::Dim)
            };
            (sum, share.unwrap_or_default(), status.to_owned(), role)
        }
    };
    let mut spans = count_spans(canvas, counts);
    if layout.shares {
        spans.push(canvas.span(format!(" {share:>8}"), Role::Text));
    }
    spans.push(canvas.span("  ", Role::Text));
    if let QuotaNode::ClusterQueue(name) = node
        && state.derived.loops_in(&state.data, name).next().is_some()
    {
        spans.push(canvas.span("loop, ", Role::Error));
    }
    spans.push(canvas.span(status, role));
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
    node: &QuotaNode,
    fr: &FlavorResource,
    layout: &LineLayout,
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let status = state.derived.cohort_tree.quota_status(node, fr);
    let lead = format!("{}    ", indent(state, node));
    let label = crate::text::resource_label(&fr.resource);
    let taken = 4 + lead.len() + crate::text::width(label);
    let max_width = usize::from(layout.name).saturating_sub(taken);
    let name = vec![
        canvas.span(lead, Role::Text),
        canvas.span(format!("{label} "), Role::Text),
        canvas.span(
            truncate_middle(&fr.flavor, max_width, canvas.glyphs.ellipsis),
            Role::Dim,
        ),
    ];
    let mut rest = quota_bar(canvas, &status, layout.bar);
    let blank = usize::from(layout.bar).saturating_sub(spans_width(&rest));
    rest.push(canvas.span(" ".repeat(blank + 1), Role::Text));
    rest.push(canvas.span(quota_status_text(&fr.resource, &status), Role::Text));
    (name, rest)
}

fn local_queue(
    state: &State,
    canvas: &Canvas<'_>,
    key: &ObjectKey,
    layout: &LineLayout,
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let Some(lq) = state.data.local_queues.get(key) else {
        return (Vec::new(), Vec::new());
    };
    let node = QuotaNode::ClusterQueue(lq.cluster_queue.clone());
    let lead = format!("{}    ", indent(state, &node));
    let max_width = usize::from(layout.name).saturating_sub(7 + lead.len());
    let name = vec![
        canvas.span(format!("{lead}{} ", canvas.glyphs.arrow), Role::Dim),
        canvas.span(
            truncate_middle(&key.to_string(), max_width, canvas.glyphs.ellipsis),
            Role::Text,
        ),
    ];
    let (status, role) = local_queue_status(lq);
    let mut rest = count_spans(canvas, lq.counts);
    if layout.shares {
        rest.push(canvas.span(" ".repeat(9), Role::Text));
    }
    rest.push(canvas.span(format!("  {status}"), role));
    (name, rest)
}
