//! The view of preemptions: who evicted whom, for what, under which policy.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::format::requests_text;
use super::table::{self, Cell, Column};
use crate::model::evictions::{Eviction, InvolvedWorkload};
use crate::state::State;
use crate::text::clock_time;
use crate::theme::Role;
use crate::ui_state::RowId;

const COLUMNS: [Column; 9] = [
    Column::new("TIME", 8, 8, 0).no_truncate(),
    Column::new("EVICTED", 16, 44, 1).preferred(22).name(),
    Column::new("PRI", 4, 8, 5).right().no_truncate(),
    Column::new("FOR", 16, 44, 2).preferred(22).name(),
    Column::new("PRI", 4, 8, 6).right().no_truncate(),
    Column::new("WHICH ASKED", 8, 24, 7),
    Column::new("CAUSE", 12, 30, 3).no_truncate(),
    Column::new("POLICY", 18, 52, 4).no_truncate(),
    Column::new("QUEUES", 12, 50, 8).name(),
];

/// Draws the window on the feed.
pub(super) fn draw(state: &State, heading: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    let shown: Vec<&Eviction> = state.data.evictions.newest_first().collect();
    let short = one_namespace(&shown);
    table::draw(
        canvas,
        heading,
        rows,
        &COLUMNS,
        state.ui.list(),
        |c, id| match id {
            RowId::Eviction(uid, at) => match state.eviction(uid, *at) {
                Some(e) => row(state, c, e, short),
                None => Vec::new(),
            },
            _ => Vec::new(),
        },
    );
}

/// Whether all that had to leave, and all for whom, are in one namespace, so that its name says
/// nothing.
fn one_namespace(all: &[&Eviction]) -> bool {
    let parties = all
        .iter()
        .flat_map(|e| std::iter::once(&e.victim).chain(&e.preemptor));
    let mut names = parties
        .filter(|p| !p.key.name.is_empty())
        .map(|p| p.key.namespace.as_str());
    let first = names.next();
    names.all(|ns| Some(ns) == first)
}

fn row(state: &State, c: &Canvas<'_>, e: &Eviction, short: bool) -> Vec<Cell> {
    let cell = |text: String, role| vec![c.span(text, role)];
    let priority = |p: Option<&InvolvedWorkload>| {
        let number = p.and_then(|p| p.priority);
        number.map_or_else(|| "-".to_owned(), |n| n.to_string())
    };
    let by = e.preemptor.as_ref();
    let name = |p: &InvolvedWorkload| {
        if (short || state.ui.namespace.is_some()) && !p.key.name.is_empty() {
            p.key.name.clone()
        } else {
            p.display_name()
        }
    };
    let queues = match by {
        Some(p) if p.cluster_queue != e.victim.cluster_queue => format!(
            "{} {} {}",
            e.victim.cluster_queue, c.glyphs.arrow, p.cluster_queue
        ),
        _ => e.victim.cluster_queue.clone(),
    };
    vec![
        cell(clock_time(e.at, &state.env.zone), Role::Dim),
        cell(name(&e.victim), Role::Warning),
        cell(priority(Some(&e.victim)), Role::Text),
        cell(by.map_or_else(|| "-".to_owned(), name), Role::Success),
        cell(priority(by), Role::Text),
        cell(
            by.filter(|p| !p.requests.is_empty())
                .map_or_else(|| "-".to_owned(), |p| requests_text(&p.requests)),
            Role::Text,
        ),
        cell(e.reason_text().to_owned(), Role::Text),
        cell(
            if e.policy.is_empty() {
                "-".to_owned()
            } else {
                e.policy.clone()
            },
            Role::Text,
        ),
        cell(queues, Role::Dim),
    ]
}
