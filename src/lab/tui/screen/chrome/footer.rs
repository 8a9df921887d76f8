//! The last line: key hints.

use ratatui::layout::Rect;

use crate::keymap::{self, Target};
use crate::state::State;
use crate::text::width;
use crate::theme::Role;
use crate::widgets::Canvas;

/// Draws the hints of available actions, as many as fit.
pub(in crate::screen) fn footer(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let mut x = area.x + 1;
    for (key, word, target) in keymap::hints(&keymap::scopes(state)) {
        if let Target::Action(action) = target
            && action.can(state).is_err()
        {
            continue;
        }
        let wide = (width(key) + width(word) + 3) as u16;
        if x + wide > area.right() {
            continue;
        }
        x += canvas.text(x, area.y, wide, key, Role::Key) + 1;
        x += canvas.text(x, area.y, wide, word, Role::Dim) + 2;
    }
}
