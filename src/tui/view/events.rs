//! The view of events, newest first.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::format::short_kind;
use super::table::{self, Cell, Column};
use crate::model::event::EventRow;
use crate::state::State;
use crate::text::clock_time;
use crate::theme::Role;
use crate::ui_state::{RowId, SortBy};

const COLUMNS: [Column; 7] = [
    Column::new("TIME", 8, 8, 0).no_truncate(),
    Column::new("TYPE", 4, 7, 4).sort_by(SortBy::Warning),
    Column::new("REASON", 10, 28, 1).name(),
    Column::new("NS", 4, 16, 6).name(),
    Column::new("OBJECT", 18, 52, 3)
        .name()
        .sort_by(SortBy::Name),
    Column::new("MESSAGE", 20, 200, 2).fraction(3),
    Column::new("FROM", 10, 36, 5).name(),
];

/// Draws the window on the list.
pub(super) fn draw(state: &State, heading: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    table::draw(
        canvas,
        heading,
        rows,
        &COLUMNS,
        state.ui.list(),
        |c, id| match id {
            RowId::Event(key) => match state.data.events.get(key) {
                Some(event) => row(state, c, event),
                None => Vec::new(),
            },
            _ => Vec::new(),
        },
    );
}

fn row(state: &State, c: &Canvas<'_>, e: &EventRow) -> Vec<Cell> {
    let (word, role) = if e.warning {
        ("Warn", Role::Error)
    } else {
        ("", Role::Dim)
    };
    let reason = if e.count > 1 {
        format!("{} x{}", e.reason, e.count)
    } else {
        e.reason.clone()
    };
    let object = format!("{}/{}", short_kind(&e.kind), e.object.name);
    vec![
        vec![c.span(clock_time(e.at, &state.env.zone), Role::Dim)],
        vec![c.span(word, role)],
        vec![c.span(reason, if e.warning { Role::Error } else { Role::Text })],
        vec![c.span(e.object.namespace.clone(), Role::Dim)],
        vec![c.span(object, Role::Text)],
        vec![c.span(e.message.clone(), Role::Text)],
        vec![c.span(e.source.clone(), Role::Dim)],
    ]
}
