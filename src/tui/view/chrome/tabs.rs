//! The second line: the views, and the status of the open list.

use ratatui::layout::Rect;

use crate::state::{State, ViewId};
use crate::text::width;
use crate::theme::Role;
use crate::views;
use crate::widget::Canvas;

/// The column and text of each tab.
fn tab_texts(state: &State) -> Vec<(ViewId, u16, String)> {
    let mut x = 1;
    let mut out = Vec::new();
    for (n, view) in ViewId::ALL.into_iter().enumerate() {
        let (title, badge) = (
            views::by_id(view).info().title,
            views::by_id(view).badge(state),
        );
        let text = format!("{} {title}{badge}", n + 1);
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

/// Draws the tabs and the status of the open list.
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
    let status = views::by_id(state.ui.view).list_status(state.ui.list());
    let room = area.width.saturating_sub(end + 2);
    let x = area
        .width
        .saturating_sub(width(&status) as u16 + 1)
        .max(end + 2);
    canvas.text(x, area.y, room, &status, Role::InProgress);
}
