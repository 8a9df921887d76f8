//! The second line: the views, and where in the open one the person is.

use ratatui::layout::Rect;

use crate::operations::PresetState;
use crate::state::State;
use crate::text::width;
use crate::theme::Role;
use crate::ui_state::ViewId;
use crate::view::canvas::Canvas;

/// The tabs: place and text of each.
fn tab_texts(state: &State) -> Vec<(ViewId, u16, String)> {
    let broken = state
        .presets
        .iter()
        .flat_map(|b| &b.presets)
        .any(|p| matches!(p.state, PresetState::Invalid { .. }));
    let mut x = 1;
    let mut out = Vec::new();
    for (n, view) in ViewId::ALL.into_iter().enumerate() {
        let flag = if view == ViewId::Presets && broken {
            "!"
        } else {
            ""
        };
        let text = format!("{} {}{flag}", n + 1, view.title());
        let wide = width(&text) as u16;
        out.push((view, x, text));
        x += wide + 2;
    }
    out
}

/// The tab at a column.
pub(in crate::view) fn tab_at(state: &State, x: u16) -> Option<ViewId> {
    tab_texts(state)
        .into_iter()
        .find(|(_, start, text)| (*start..*start + width(text) as u16).contains(&x))
        .map(|(view, ..)| view)
}

/// The views, and the filter of the open one.
pub(in crate::view) fn tabs(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let mut end = area.x;
    for (view, x, text) in tab_texts(state) {
        let role = if view == state.ui.view {
            Role::ActiveTab
        } else {
            Role::InactiveTab
        };
        let room = area.width.saturating_sub(x);
        end = x + canvas.text(x, area.y, room, &text, role);
    }
    let list = state.ui.list();
    let status = match &list.filter {
        Some(filter) if state.ui.view == ViewId::Queues => format!("/{}", filter.text),
        Some(filter) => format!("/{} {}/{}", filter.text, list.rows.len(), list.unfiltered),
        None if list.rows.is_empty() || state.ui.view == ViewId::Queues => String::new(),
        None => format!("{}/{}", list.selected_index + 1, list.rows.len()),
    };
    let room = area.width.saturating_sub(end + 2);
    let x = area
        .width
        .saturating_sub(width(&status) as u16 + 1)
        .max(end + 2);
    canvas.text(x, area.y, room, &status, Role::InProgress);
}
