//! A buffer with theme and glyphs. Output outside of the buffer or the given columns is dropped.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::glyphs::Glyphs;
use crate::text::{truncate, width, wrap};
use crate::theme::{Role, Theme};

/// A buffer with theme and glyphs.
pub(crate) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    theme: Theme,
    /// The glyphs.
    pub glyphs: &'static Glyphs,
}

impl<'a> Canvas<'a> {
    pub(crate) fn new(buffer: &'a mut Buffer, theme: Theme, glyphs: &'static Glyphs) -> Self {
        Self {
            buffer,
            theme,
            glyphs,
        }
    }

    /// The style of a role.
    pub(crate) fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Text in the style of a role.
    pub(crate) fn span(&self, text: impl Into<String>, role: Role) -> Span<'static> {
        Span::styled(text.into(), self.style(role))
    }

    /// Writes text in at most `max_width` columns; returns the used columns.
    pub(crate) fn text(&mut self, x: u16, y: u16, max_width: u16, text: &str, role: Role) -> u16 {
        let style = self.style(role);
        self.styled(x, y, max_width, text, style)
    }

    /// Writes text with a style in at most `max_width` columns; returns the used columns.
    pub(crate) fn styled(
        &mut self,
        x: u16,
        y: u16,
        max_width: u16,
        text: &str,
        style: Style,
    ) -> u16 {
        if !self.contains(x, y) || max_width == 0 {
            return 0;
        }
        let shown = truncate(text, max_width.into(), self.glyphs.ellipsis);
        let (end, _) = self
            .buffer
            .set_stringn(x, y, &*shown, max_width.into(), style);
        end.saturating_sub(x)
    }

    /// Writes spans in at most `max_width` columns; returns the used columns.
    pub(crate) fn line(&mut self, x: u16, y: u16, max_width: u16, line: &Line<'_>) -> u16 {
        self.spans(x, y, max_width, &line.spans)
    }

    /// Writes spans in at most `max_width` columns; returns the used columns.
    pub(crate) fn spans(&mut self, x: u16, y: u16, max_width: u16, spans: &[Span<'_>]) -> u16 {
        let mut used = 0;
        for span in spans {
            if used >= max_width {
                break;
            }
            used += self.styled(x + used, y, max_width - used, &span.content, span.style);
        }
        used
    }

    /// Writes wrapped text.
    pub(crate) fn wrapped(&mut self, area: Rect, text: &str, role: Role) {
        for (line, y) in wrap(text, area.width.into())
            .iter()
            .zip(area.top()..area.bottom())
        {
            self.text(area.x, y, area.width, line, role);
        }
    }

    /// Clears an area.
    pub(crate) fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
        }
    }

    /// Marks a line as selected with one style for the whole line.
    pub(crate) fn select(&mut self, area: Rect) {
        let style = self.style(Role::Selected);
        let area = area.intersection(self.buffer.area);
        for x in area.left()..area.right() {
            if let Some(cell) = self.buffer.cell_mut((x, area.y)) {
                cell.fg = ratatui::style::Color::Reset;
                cell.bg = ratatui::style::Color::Reset;
                cell.modifier = ratatui::style::Modifier::empty();
                cell.set_style(style);
            }
        }
    }

    /// Draws a box with a title; returns the area inside.
    pub(crate) fn bordered(&mut self, area: Rect, title: &str) -> Rect {
        use ratatui::widgets::{Block, Widget};
        self.clear(area);
        let area = area.intersection(self.buffer.area);
        let block = Block::bordered()
            .border_set(self.glyphs.border)
            .border_style(self.style(Role::Line))
            .title(Span::styled(format!(" {title} "), self.style(Role::Title)));
        let inner = block.inner(area);
        block.render(area, self.buffer);
        inner
    }

    /// Draws a scroll bar at the right edge, if the window does not show everything.
    pub(crate) fn scrollbar(&mut self, area: Rect, offset: usize, total: usize) {
        let height = usize::from(area.height);
        if total <= height || height < 2 || area.width == 0 {
            return;
        }
        let size = (height * height / total).clamp(1, height);
        let top = offset * (height - size) / (total - height);
        for line in top..(top + size).min(height) {
            let y = area.y + line as u16;
            self.text(area.right() - 1, y, 1, self.glyphs.thumb, Role::Dim);
        }
    }

    /// Replaces characters that are not ASCII.
    pub(crate) fn replace_non_ascii(&mut self) {
        for cell in &mut self.buffer.content {
            if !cell.symbol().is_ascii() {
                cell.set_symbol("?");
            }
        }
    }

    fn contains(&self, x: u16, y: u16) -> bool {
        self.buffer.area.contains((x, y).into())
    }
}

/// The columns of spans.
pub(crate) fn spans_width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|s| width(&s.content)).sum()
}
