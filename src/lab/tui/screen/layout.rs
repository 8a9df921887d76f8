//! The layout of the screen.

use ratatui::layout::Rect;

use super::chrome;
use crate::state::{State, ViewId};
use crate::views;

/// Columns from which the side panel is shown.
const SIDE_PANEL_MIN_WIDTH: u16 = 140;

/// The areas of the screen; areas that do not fit are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScreenLayout {
    /// The whole screen.
    pub(crate) all: Rect,
    /// Cluster, clock, totals.
    pub(crate) header: Rect,
    /// The tabs of the views.
    pub(crate) tabs: Rect,
    /// Column headings of the list.
    pub(crate) heading: Rect,
    /// The visible rows of the list.
    pub(crate) rows: Rect,
    /// The note of the view.
    pub(crate) note: Rect,
    /// Details beside the list.
    pub(crate) side_panel: Option<Rect>,
    /// The title of the page.
    pub(crate) page_title: Rect,
    /// The visible lines of the page.
    pub(crate) page: Rect,
    /// The paused clock.
    pub(crate) clock: Rect,
    /// The running demo.
    pub(crate) scenario: Rect,
    /// Notifications or the prompt.
    pub(crate) message: Rect,
    /// Key hints.
    pub(crate) footer: Rect,
}

/// The layout for a state.
pub(crate) fn screen_layout(state: &State) -> ScreenLayout {
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
    let view = views::by_id(state.ui.view);
    let free = match &state.ui.page {
        Some(_) => 0,
        None => view.free_lines(state.ui.list().rows.len(), left),
    };
    let scenario = match state.visible_scenario() {
        Some(progress) => take(
            &mut left,
            chrome::scenario_panel_height(progress, height, free),
            12,
        ),
        None => 0,
    };
    let clock = take(&mut left, chrome::clock_panel_height(state, height), 12);
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
    let has_note = body > 3 && state.ui.page.is_none() && view.note(state).is_some();
    let note = u16::from(has_note);
    let side = (width >= SIDE_PANEL_MIN_WIDTH && body > 3 && view.info().side_panel).then(|| {
        let side = (width * 9 / 20).min(110);
        Rect {
            x: width - side,
            y: top,
            width: side,
            height: body,
        }
    });
    let list_width = width - side.map_or(0, |s| s.width);
    ScreenLayout {
        all: line(0, height),
        header: line(0, header),
        tabs: line(header, tabs),
        heading: Rect {
            width: list_width,
            ..line(top, first)
        },
        rows: Rect {
            width: list_width,
            ..line(top + first, body - first - note)
        },
        note: Rect {
            width: list_width,
            ..line(bottom - note, note)
        },
        side_panel: side,
        page_title: line(top, first),
        page: line(top + first, body - first),
        clock: line(bottom, clock),
        scenario: line(bottom + clock, scenario),
        message: line(bottom + clock + scenario, message),
        footer: line(bottom + clock + scenario + message, footer),
    }
}

/// Something that can be clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClickTarget {
    /// A tab.
    Tab(ViewId),
    /// A visible row of the list, by line.
    Row(usize),
}

/// The target at a column and row.
pub(crate) fn click_target(state: &State, x: u16, y: u16) -> Option<ClickTarget> {
    let frame = screen_layout(state);
    let at = (x, y).into();
    if frame.tabs.contains(at) {
        return chrome::tab_at(state, x).map(ClickTarget::Tab);
    }
    frame
        .rows
        .contains(at)
        .then(|| ClickTarget::Row(usize::from(y - frame.rows.y)))
}
