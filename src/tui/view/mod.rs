//! Drawing: pure functions from state to a buffer. Nothing here changes anything.

mod canvas;
mod caption;
mod chrome;
mod dialog;
mod events;
mod evictions;
mod format;
pub mod layout;
mod nodes;
pub mod page;
mod pending_overview;
mod presets;
mod queues;
mod table;
mod widget;
mod workloads;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::keymap::ActionId;
use super::model::{Kind, watch_status::WatchStatus};
use super::state::State;
use super::theme::Role;
use super::ui_state::{PageKind, ViewId};
use canvas::Canvas;

/// Where the cursor belongs, if anywhere.
pub type Cursor = Option<(u16, u16)>;

/// Draws the state into the buffer, which has the size the state was settled for.
pub fn draw(state: &State, buffer: &mut Buffer) -> Cursor {
    let frame = layout::screen_layout(state);
    let mut canvas = Canvas::new(buffer, state.env.theme, state.env.glyphs);
    chrome::header(state, frame.header, &mut canvas);
    chrome::tabs(state, frame.tabs, &mut canvas);
    if let Some(open) = &state.ui.page {
        page::draw(open, frame.page_title, frame.page, &mut canvas);
    } else {
        draw_list(state, frame.heading, frame.rows, &mut canvas);
        if let Some(side) = frame.side_panel {
            draw_side_panel(state, side, &mut canvas);
        }
    }
    chrome::scenario_panel(state, frame.scenario, &mut canvas);
    let mut cursor = chrome::message(state, frame.message, &mut canvas);
    chrome::footer(state, frame.footer, &mut canvas);
    if let Some(overlay) = &state.ui.dialog {
        dialog::draw(state, overlay, frame.all, &mut canvas);
        cursor = None;
    }
    if state.env.glyphs.ascii {
        canvas.replace_non_ascii();
    }
    cursor
}

/// Draws the open view.
fn draw_list(state: &State, heading: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    if state.ui.list().rows.is_empty() {
        draw_empty(state, heading, rows, canvas);
        return;
    }
    match state.ui.view {
        ViewId::Queues => queues::draw(state, heading, rows, canvas),
        ViewId::Workloads => workloads::draw(state, heading, rows, canvas),
        ViewId::Evictions => evictions::draw(state, heading, rows, canvas),
        ViewId::Nodes => nodes::draw(state, heading, rows, canvas),
        ViewId::Presets => presets::draw(state, heading, rows, canvas),
        ViewId::Events => events::draw(state, heading, rows, canvas),
    }
}

/// Whether this window can do an act: not all clusters have a lab behind them, and some windows only
/// look.
pub(in crate::view) fn is_available(state: &State, act: ActionId) -> bool {
    let free = !state.env.read_only;
    match act {
        ActionId::RunDemo => free && !state.env.demos.is_empty(),
        ActionId::Presets | ActionId::ApplyPreset => free && state.presets.is_some(),
        ActionId::SubmitJob | ActionId::SubmitPresetSample | ActionId::Delete => free,
        ActionId::Explain => state.env.can_explain,
        _ => true,
    }
}

/// Says why a view has no rows, and what to do.
fn draw_empty(state: &State, heading: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    let list = state.ui.list();
    let kind = match state.ui.view {
        ViewId::Queues => Kind::ClusterQueue,
        ViewId::Workloads | ViewId::Evictions => Kind::Workload,
        ViewId::Nodes => Kind::Node,
        ViewId::Presets | ViewId::Events => Kind::Event,
    };
    let text = if state.ui.view == ViewId::Presets && state.presets.is_none() {
        "No presets here: this window has no lab behind it. `kueue-lab up` starts one.".to_owned()
    } else if let Some(filter) = list.filter.as_ref().filter(|_| list.unfiltered > 0) {
        format!(
            "Nothing among {} passes the filter /{} (esc forgets it).",
            list.unfiltered, filter.text
        )
    } else {
        match state.data.watch_status(kind) {
            WatchStatus::Failing(trouble) => trouble.message(kind.plural()),
            WatchStatus::Starting => "Waiting for the cluster ...".to_owned(),
            WatchStatus::Synced => match (state.ui.view, &state.ui.namespace) {
                (ViewId::Queues, None) if is_available(state, ActionId::Presets) => {
                    "No ClusterQueues. Apply some, or switch to a preset (p).".to_owned()
                }
                (ViewId::Queues, None) if !state.env.read_only => {
                    "No ClusterQueues. Apply some.".to_owned()
                }
                (ViewId::Queues, None) => "No ClusterQueues.".to_owned(),
                (ViewId::Workloads, None) if is_available(state, ActionId::RunDemo) => {
                    "No workloads. Submit some (s), or run the demo (D).".to_owned()
                }
                (ViewId::Workloads, None) if is_available(state, ActionId::SubmitJob) => {
                    "No workloads. Submit some (s).".to_owned()
                }
                (ViewId::Workloads, None) => "No workloads.".to_owned(),
                (ViewId::Evictions, _) => "Nobody was evicted so far.".to_owned(),
                (ViewId::Nodes, _) => "No nodes.".to_owned(),
                (ViewId::Presets, _) => "No presets in the folder.".to_owned(),
                (ViewId::Events, None) => "No events so far.".to_owned(),
                (_, Some(ns)) => format!("Nothing in namespace {ns} (0 shows all namespaces)."),
            },
        }
    };
    let area = heading.union(rows);
    let area = Rect {
        x: area.x + 2,
        width: area.width.saturating_sub(3),
        ..area
    };
    canvas.wrapped(area, &text, Role::Text);
    if state.ui.view == ViewId::Workloads && area.height > 2 {
        let below = Rect {
            x: 0,
            y: area.y + 2,
            height: area.height - 2,
            ..area
        };
        pending_overview::draw_incomplete_pod_groups(state, below, canvas);
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
    let lines = page::lines(state, &PageKind::Details(id.clone()), inner.width);
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
