//! The view of presets: which is in force, which is broken and where, what each teaches.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::table::{self, Cell, Column};
use crate::actions::{Preset, PresetBoard, PresetState};
use crate::state::State;
use crate::text::{age, clean, first_sentence};
use crate::theme::Role;
use crate::ui::{RowId, SortBy};

const COLUMNS: [Column; 4] = [
    Column::new("PRESET", 12, 40, 0).name().by(SortBy::Name),
    Column::new("STATE", 10, 22, 1).whole(),
    Column::new("APPLIED", 7, 8, 3).right().whole(),
    Column::new("WHAT IT TEACHES, OR WHAT IS WRONG", 20, 160, 2).part(2),
];

/// Draws the window on the list.
pub(super) fn draw(state: &State, heading: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    table::draw(canvas, heading, rows, &COLUMNS, state.ui.list(), |c, id| {
        let RowId::Preset(name) = id else {
            return Vec::new();
        };
        let Some(board) = &state.presets else {
            return Vec::new();
        };
        match board.presets.iter().find(|p| p.name == *name) {
            Some(preset) => row(state, c, board, preset),
            None => Vec::new(),
        }
    });
}

/// State in words, with its sign and role.
pub(super) fn state_of(c: &Canvas<'_>, preset: &Preset) -> (String, Role) {
    let g = c.glyphs;
    match &preset.state {
        PresetState::Idle => (format!("{} idle", g.off), Role::Dim),
        PresetState::Applying => (format!("{} applying", g.on), Role::Half),
        PresetState::Active if preset.warnings.is_empty() => {
            (format!("{} active", g.on), Role::Fine)
        }
        PresetState::Active => (format!("{} active, warnings", g.on), Role::Lost),
        PresetState::Broken {
            last_good_in_force: true,
            ..
        } => (format!("{} broken, last good", g.failed), Role::Bad),
        PresetState::Broken { .. } => (format!("{} broken", g.failed), Role::Bad),
    }
}

fn row(state: &State, c: &Canvas<'_>, board: &PresetBoard, preset: &Preset) -> Vec<Cell> {
    let (word, role) = state_of(c, preset);
    let remark = match &preset.state {
        PresetState::Broken { faults, .. } => faults.first().map(|f| {
            let place = board.place(f);
            let own = format!("{}/", preset.name);
            let place = place.strip_prefix(&own).unwrap_or(&place);
            let text = format!("{place}: {}", f.reason);
            c.span(clean(&text), Role::Bad)
        }),
        _ => None,
    };
    let remark = remark.unwrap_or_else(|| {
        let first = first_sentence(&preset.teaches);
        let text = if first.is_empty() { "-" } else { &first };
        c.span(text, Role::Text)
    });
    vec![
        vec![c.span(clean(&preset.name), Role::Strong)],
        vec![c.span(word, role)],
        vec![c.span(age(state.data.now, preset.applied_at), Role::Text)],
        vec![remark],
    ]
}
