//! Drawing: pure functions from the state to a buffer.

pub(crate) mod canvas;
mod chrome;
mod dialog;
pub(crate) mod format;
pub mod layout;
pub mod page;
pub(crate) mod table;
pub(crate) mod widget;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::model::watch_status::WatchStatus;
use super::theme::Role;
use super::views::ListArea;
use crate::state::{PageKind, State};
use crate::views;
use canvas::Canvas;

/// The column and row of the cursor, if it is shown.
pub type Cursor = Option<(u16, u16)>;

/// Draws a refreshed state into a buffer of its size.
pub fn draw(state: &State, buffer: &mut Buffer) -> Cursor {
    let screen = layout::screen_layout(state);
    let mut canvas = Canvas::new(buffer, state.env.theme, state.env.glyphs);
    chrome::header(state, screen.header, &mut canvas);
    chrome::tabs(state, screen.tabs, &mut canvas);
    if let Some(open) = &state.ui.page {
        page::draw(open, screen.page_title, screen.page, &mut canvas);
    } else {
        let area = ListArea {
            heading: screen.heading,
            rows: screen.rows,
        };
        draw_list(state, area, &mut canvas);
        if let Some(side) = screen.side_panel {
            draw_side_panel(state, side, &mut canvas);
        }
    }
    chrome::scenario_panel(state, screen.scenario, &mut canvas);
    let mut cursor = chrome::message(state, screen.message, &mut canvas);
    chrome::footer(state, screen.footer, &mut canvas);
    if let Some(dialog) = &state.ui.dialog {
        dialog::draw(dialog, screen.all, &mut canvas);
        cursor = None;
    }
    if state.env.glyphs.ascii {
        canvas.replace_non_ascii();
    }
    cursor
}

/// Draws the open view.
fn draw_list(state: &State, area: ListArea, canvas: &mut Canvas<'_>) {
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
            "Nothing among {} passes the filter /{} (esc clears it).",
            list.unfiltered, filter.text
        );
    }
    if let Some(kind) = view.kind() {
        match state.data.watch_status(kind) {
            WatchStatus::Failing(failure) => return failure.message(kind.plural()),
            WatchStatus::Starting => return "Waiting for the cluster ...".to_owned(),
            WatchStatus::Synced => {}
        }
    }
    match &state.ui.namespace {
        Some(ns) if view.namespaced() => {
            format!("Nothing in namespace {ns} (0 shows all namespaces).")
        }
        _ => view.empty_text(state),
    }
}

/// Draws the details of the selected row beside the list.
fn draw_side_panel(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    for y in area.top()..area.bottom() {
        canvas.text(area.x, y, 1, canvas.glyphs.vertical, Role::Line);
    }
    let Some(id) = state.ui.list().selected() else {
        return;
    };
    let inner = Rect {
        x: area.x + 2,
        width: area.width.saturating_sub(2),
        ..area
    };
    let lines = page::lines(state, &PageKind::Details, Some(id), inner.width);
    for (line, y) in lines.iter().zip(inner.top()..inner.bottom()) {
        canvas.line(inner.x, y, inner.width, line);
    }
    if lines.len() > usize::from(inner.height) && inner.height > 0 {
        let more = format!(
            " {} more lines: enter ",
            lines.len() - usize::from(inner.height) + 1
        );
        let y = inner.bottom() - 1;
        canvas.clear(Rect {
            y,
            height: 1,
            ..inner
        });
        canvas.text(inner.x, y, inner.width, &more, Role::Dim);
    }
}
