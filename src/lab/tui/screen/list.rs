//! The list of the open view.

use ratatui::layout::Rect;

use crate::model::watch_status::{WatchFailure, WatchStatus};
use crate::state::State;
use crate::text::truncate;
use crate::theme::Role;
use crate::views;
use crate::widgets::Canvas;
use crate::widgets::table::ListArea;

/// Draws the open view.
pub(super) fn draw(state: &State, area: ListArea, canvas: &mut Canvas<'_>) {
    let (view, list) = (views::by_id(state.ui.view), state.ui.list());
    if list.rows.is_empty() {
        draw_empty(state, area, canvas);
        return;
    }
    view.draw(state, area, list, canvas);
    let used = u16::try_from(list.rows.len()).unwrap_or(u16::MAX);
    let used = used.min(area.rows.height);
    let below = Rect {
        y: area.rows.y + used,
        height: area.rows.height - used,
        ..area.rows
    };
    view.draw_below(state, below, canvas);
}

/// Draws the note of the open view.
pub(super) fn draw_note(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    let note = views::by_id(state.ui.view).note(state);
    if let Some(note) = note.filter(|_| area.height > 0) {
        let max_width = area.width.saturating_sub(3);
        let text = truncate(&note, max_width.into(), canvas.glyphs.ellipsis);
        canvas.text(area.x + 2, area.y, max_width, &text, Role::Warning);
    }
}

/// Draws why a view has no rows, and what to do.
fn draw_empty(state: &State, area: ListArea, canvas: &mut Canvas<'_>) {
    let area = area.heading.union(area.rows);
    let area = Rect {
        x: area.x + 2,
        width: area.width.saturating_sub(3),
        ..area
    };
    canvas.wrapped(area, &empty_text(state), Role::Text);
    if area.height > 2 {
        let below = Rect {
            x: 0,
            y: area.y + 2,
            height: area.height - 2,
            ..area
        };
        views::by_id(state.ui.view).draw_below(state, below, canvas);
    }
}

fn empty_text(state: &State) -> String {
    let (view, list) = (views::by_id(state.ui.view), state.ui.list());
    if let Some(filter) = list.filter.as_ref().filter(|_| list.unfiltered > 0) {
        return format!(
            "None of {} rows matches the filter /{} (esc clears it).",
            list.unfiltered, filter.text
        );
    }
    if let Some(kind) = view.info().kind {
        match state.data.watch_status(kind) {
            WatchStatus::Failing(WatchFailure::NotInstalled) if kind.is_optional() => {}
            WatchStatus::Failing(failure) => return failure.message(kind.plural()),
            WatchStatus::Starting => return "Waiting for the cluster ...".to_owned(),
            WatchStatus::Synced => {}
        }
    }
    match &state.ui.namespace {
        Some(ns) if view.info().namespaced => {
            format!("No objects in namespace {ns} (0 shows all namespaces).")
        }
        _ => view.empty_text(state),
    }
}
