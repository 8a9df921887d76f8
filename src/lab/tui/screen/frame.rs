//! A frame: the whole screen.

use ratatui::buffer::Buffer;

use super::{chrome, dialog, layout, list, page, side_panel};
use crate::state::State;
use crate::widgets::Canvas;
use crate::widgets::table::ListArea;

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
        list::draw(state, area, &mut canvas);
        list::draw_note(state, screen.note, &mut canvas);
        if let Some(side) = screen.side_panel {
            side_panel::draw(state, side, &mut canvas);
        }
    }
    chrome::clock_panel(state, screen.clock, &mut canvas);
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
