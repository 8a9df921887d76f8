//! The second line: the views, and the status of the open list.

use std::borrow::Cow;

use ratatui::layout::Rect;

use crate::state::{State, ViewId};
use crate::text::{truncate, width};
use crate::theme::Role;
use crate::views;
use crate::widgets::Canvas;

/// Columns that the tabs leave for the status of the list. On a narrow screen they are closer together.
const STATUS_COLUMNS: u16 = 16;

/// The column and text of each tab.
fn tab_texts(state: &State) -> Vec<(ViewId, u16, String)> {
    let texts = ViewId::ALL.into_iter().enumerate().map(|(n, id)| {
        let view = views::by_id(id);
        let text = format!("{} {}{}", n + 1, view.info().title, view.badge(state));
        let columns = width(&text) as u16;
        (id, columns, text)
    });
    let texts: Vec<_> = texts.collect();
    let total: u16 = texts.iter().map(|(_, columns, _)| columns + 2).sum();
    let gap = if total + STATUS_COLUMNS > state.ui.width {
        1
    } else {
        2
    };
    let mut x = 1;
    let place = |(id, columns, text)| {
        let start = x;
        x += columns + gap;
        (id, start, text)
    };
    texts.into_iter().map(place).collect()
}

/// The tab at a column.
pub(in crate::screen) fn tab_at(state: &State, x: u16) -> Option<ViewId> {
    tab_texts(state)
        .into_iter()
        .find(|(_, start, text)| (*start..*start + width(text) as u16).contains(&x))
        .map(|(view, ..)| view)
}

/// Draws the tabs and the status of the open list.
pub(in crate::screen) fn tabs(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
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
        let max_width = area.width.saturating_sub(x);
        end = x + canvas.text(x, area.y, max_width, &text, role);
    }
    let status = views::by_id(state.ui.view).list_status(state.ui.list());
    let max_width = area.width.saturating_sub(end + 2);
    let x = area
        .width
        .saturating_sub(width(&status) as u16 + 1)
        .max(end + 2);
    let status = shorten(&status, max_width.into(), canvas.glyphs.ellipsis);
    canvas.text(x, area.y, max_width, &status, Role::InProgress);
}

/// The status in at most `max_width` columns: a long filter is truncated, and the count after it stays.
fn shorten<'a>(status: &'a str, max_width: usize, ellipsis: &str) -> Cow<'a, str> {
    match status.rsplit_once(' ') {
        Some((filter, count)) if width(status) > max_width && count.contains('/') => {
            let filter = truncate(filter, max_width.saturating_sub(width(count) + 1), ellipsis);
            Cow::Owned(format!("{filter} {count}"))
        }
        _ => truncate(status, max_width, ellipsis),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_filter_leaves_room_for_the_count() {
        assert_eq!(shorten("/cluster-queue 1/12", 12, "…"), "/clust… 1/12");
        assert_eq!(shorten("/job 1/12", 12, "…"), "/job 1/12");
        assert_eq!(shorten("/cluster-queue", 8, "…"), "/cluste…");
    }
}
