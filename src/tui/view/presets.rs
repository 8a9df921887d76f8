//! The view of presets: which is in force, which is broken and where, what each teaches.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::table::{self, Cell, Column};
use crate::operations::{Preset, PresetList, PresetState};
use crate::state::State;
use crate::text::{age, first_sentence, sanitize};
use crate::theme::Role;
use crate::ui_state::{RowId, SortBy};

const COLUMNS: [Column; 4] = [
    Column::new("PRESET", 12, 40, 0)
        .name()
        .sort_by(SortBy::Name),
    Column::new("STATE", 10, 22, 1).no_truncate(),
    Column::new("APPLIED", 7, 8, 3).right().no_truncate(),
    Column::new("WHAT IT TEACHES, OR WHAT IS WRONG", 20, 160, 2).fraction(2),
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
pub(super) fn state_text(c: &Canvas<'_>, preset: &Preset) -> (String, Role) {
    let g = c.glyphs;
    match &preset.state {
        PresetState::Idle => (format!("{} idle", g.inactive), Role::Dim),
        PresetState::Applying => (format!("{} applying", g.active), Role::InProgress),
        PresetState::Active if preset.warnings.is_empty() => {
            (format!("{} active", g.active), Role::Success)
        }
        PresetState::Active => (format!("{} active, warnings", g.active), Role::Warning),
        PresetState::Invalid {
            last_good_applied: true,
            ..
        } => (format!("{} broken, last good", g.failed), Role::Error),
        PresetState::Invalid { .. } => (format!("{} broken", g.failed), Role::Error),
    }
}

fn row(state: &State, c: &Canvas<'_>, board: &PresetList, preset: &Preset) -> Vec<Cell> {
    let (word, role) = state_text(c, preset);
    let remark = match &preset.state {
        PresetState::Invalid {
            diagnostics: faults,
            ..
        } => faults.first().map(|f| {
            let place = board.location(f);
            let own = format!("{}/", preset.name);
            let place = place.strip_prefix(&own).unwrap_or(&place);
            let text = format!("{place}: {}", f.reason);
            c.span(sanitize(&text), Role::Error)
        }),
        _ => None,
    };
    let remark = remark.unwrap_or_else(|| {
        let first = first_sentence(&preset.description);
        let text = if first.is_empty() { "-" } else { &first };
        c.span(text, Role::Text)
    });
    vec![
        vec![c.span(sanitize(&preset.name), Role::Bold)],
        vec![c.span(word, role)],
        vec![c.span(age(state.data.now, preset.applied_at), Role::Text)],
        vec![remark],
    ]
}
