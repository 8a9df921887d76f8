//! The panel beside the list.

use ratatui::layout::Rect;

use super::page;
use crate::state::{PageKind, State};
use crate::theme::Role;
use crate::widgets::Canvas;

/// Draws the details of the selected row beside the list.
pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    for y in area.top()..area.bottom() {
        canvas.text(area.x, y, 1, canvas.glyphs.vertical, Role::Line);
    }
    let Some(id) = state.ui.list().selected() else {
        return;
    };
    let inner = Rect {
        x: area.x + 2,
        width: area.width.saturating_sub(2),
        ..area
    };
    let lines = page::lines(state, &PageKind::Details, Some(id), inner.width);
    for (line, y) in lines.iter().zip(inner.top()..inner.bottom()) {
        canvas.line(inner.x, y, inner.width, line);
    }
    if lines.len() > usize::from(inner.height) && inner.height > 0 {
        let more = format!(
            " {} more lines: enter ",
            lines.len() - usize::from(inner.height) + 1
        );
        let y = inner.bottom() - 1;
        canvas.clear(Rect {
            y,
            height: 1,
            ..inner
        });
        canvas.text(inner.x, y, inner.width, &more, Role::Dim);
    }
}
