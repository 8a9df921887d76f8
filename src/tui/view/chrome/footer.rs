//! The last line: the most useful keys.

use ratatui::layout::Rect;

use crate::keymap;
use crate::state::State;
use crate::text::width;
use crate::theme::Role;
use crate::update::scopes;
use crate::view::canvas::Canvas;
use crate::view::is_available;

/// The most useful keys, as many as there is room for.
pub(in crate::view) fn footer(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let mut x = area.x + 1;
    for (key, word, act) in keymap::hints(scopes(state)) {
        if !is_available(state, act) {
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
