//! Where things go on the screen, from its size and what is open.

use ratatui::layout::Rect;

use super::chrome;
use crate::state::State;
use crate::ui::ViewId;

/// Columns from which details fit beside the list.
const WIDE: u16 = 140;

/// The areas of the screen. Areas for which there is no room are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The whole screen.
    pub all: Rect,
    /// Cluster, clock, totals.
    pub header: Rect,
    /// The views.
    pub tabs: Rect,
    /// Column headings of the list.
    pub heading: Rect,
    /// The window on the list.
    pub rows: Rect,
    /// Details beside the list.
    pub side: Option<Rect>,
    /// Title of an open page.
    pub page_title: Rect,
    /// The window on an open page.
    pub page: Rect,
    /// The running demo.
    pub story: Rect,
    /// Messages, and the line being typed.
    pub message: Rect,
    /// Keys.
    pub footer: Rect,
}

/// The areas for a state.
pub fn of(state: &State) -> Frame {
    let (width, height) = (state.ui.width, state.ui.height);
    let mut left = height;
    let take = |left: &mut u16, lines: u16, at_least: u16| {
        if height >= at_least && *left >= lines {
            *left -= lines;
            lines
        } else {
            0
        }
    };
    let header = take(&mut left, 1, 6);
    let tabs = take(&mut left, 1, 5);
    let footer = take(&mut left, 1, 4);
    let message = take(&mut left, chrome::message_height(state, width, height), 3);
    let rows = state.ui.list().rows.len();
    let free = match state.ui.view {
        _ if state.ui.page.is_some() => 0,
        // What is free below the tree shows who waits.
        ViewId::Queues => 0,
        _ => left.saturating_sub(u16::try_from(rows + 1).unwrap_or(u16::MAX)),
    };
    let story = match state.running_story() {
        Some(story) => take(&mut left, chrome::story_height(story, height, free), 12),
        None => 0,
    };
    let body = left;
    let line = |y: u16, height: u16| Rect {
        x: 0,
        y,
        width,
        height,
    };
    let top = header + tabs;
    let bottom = top + body;
    let first = u16::from(body > 1);
    let side = (width >= WIDE && body > 3 && state.ui.view != ViewId::Events).then(|| {
        let side = (width * 9 / 20).min(110);
        Rect {
            x: width - side,
            y: top,
            width: side,
            height: body,
        }
    });
    let list_width = width - side.map_or(0, |s| s.width);
    Frame {
        all: line(0, height),
        header: line(0, header),
        tabs: line(header, tabs),
        heading: Rect {
            width: list_width,
            ..line(top, first)
        },
        rows: Rect {
            width: list_width,
            ..line(top + first, body - first)
        },
        side,
        page_title: line(top, first),
        page: line(top + first, body - first),
        story: line(bottom, story),
        message: line(bottom + story, message),
        footer: line(bottom + story + message, footer),
    }
}

/// Something that can be clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A tab.
    Tab(ViewId),
    /// A line of the window on the list.
    Row(usize),
}

/// What is at a column and row.
pub fn spot(state: &State, x: u16, y: u16) -> Option<Spot> {
    let frame = of(state);
    let at = (x, y).into();
    if frame.tabs.contains(at) {
        return chrome::tab_at(state, x).map(Spot::Tab);
    }
    frame
        .rows
        .contains(at)
        .then(|| Spot::Row(usize::from(y - frame.rows.y)))
}
