//! The message line: the prompt, the current notification, or the caption of the selected row.

use ratatui::layout::Rect;

use crate::screen::Cursor;
use crate::state::{Prompt, PromptMode, Severity, State};
use crate::text::{width, wrap};
use crate::theme::Role;
use crate::views;
use crate::widgets::Canvas;

/// Draws the prompt, the notification or the caption; returns the cursor of the prompt.
pub(in crate::screen) fn message(state: &State, area: Rect, canvas: &mut Canvas<'_>) -> Cursor {
    if area.height == 0 {
        return None;
    }
    if let Some(prompt) = &state.ui.prompt {
        return draw_prompt(prompt, area, canvas);
    }
    let Some(notification) = CurrentNotification::of(state) else {
        let caption = caption(state).unwrap_or_default();
        canvas.text(
            area.x + 1,
            area.y,
            area.width.saturating_sub(2),
            &caption,
            Role::Dim,
        );
        return None;
    };
    let lines = notification.lines(area.width);
    let mut end = (area.x, area.y);
    for (line, y) in lines.iter().zip(area.top()..area.bottom()) {
        let used = canvas.text(area.x + 1, y, area.width, line, notification.role);
        end = (area.x + 1 + used, y);
    }
    let max_width = area.right().saturating_sub(end.0 + 1);
    if lines.len() > usize::from(area.height) {
        draw_right_aligned(canvas, area, "  m shows all");
    } else if width(&notification.hint) <= max_width.into() {
        canvas.text(end.0, end.1, max_width, &notification.hint, Role::Dim);
    } else {
        draw_right_aligned(canvas, area, &notification.hint);
    }
    None
}

/// Draws the prompt, scrolled so that the cursor is visible.
fn draw_prompt(prompt: &Prompt, area: Rect, canvas: &mut Canvas<'_>) -> Cursor {
    let text = format!("{}{}", prompt.kind.sign(), prompt.text());
    let mut characters = text.char_indices().skip(prompt.cursor() + 1);
    let (before, after) = text.split_at(characters.next().map_or(text.len(), |(at, _)| at));
    let mut visible = before;
    while width(visible) + 2 > usize::from(area.width) && !visible.is_empty() {
        let skip = visible.chars().next().map_or(1, char::len_utf8);
        visible = &visible[skip..];
    }
    let cursor = area.x + 1 + canvas.text(area.x + 1, area.y, area.width, visible, Role::Input);
    let max_width = area.right().saturating_sub(cursor);
    let end = cursor + canvas.text(cursor, area.y, max_width, after, Role::Input);
    if prompt.kind == PromptMode::Command && prompt.completion_index.is_none() {
        let max_width = area.width.saturating_sub(end + 3);
        let completions = prompt.completions.join("  ");
        canvas.text(end + 3, area.y, max_width, &completions, Role::Dim);
    }
    Some((cursor.min(area.right().saturating_sub(1)), area.y))
}

/// The line about the selected row.
fn caption(state: &State) -> Option<String> {
    if state.ui.page.is_some() {
        return None;
    }
    let row = state.ui.list().selected()?;
    views::of_row(row).caption(state, row)
}

/// Draws text at the right end of the last line.
fn draw_right_aligned(canvas: &mut Canvas<'_>, area: Rect, text: &str) {
    let wide = (width(text) as u16 + 1).min(area.width);
    let (x, y) = (area.right() - wide, area.bottom() - 1);
    canvas.text(x, y, wide, text, Role::Dim);
}

/// The most lines of a notification.
const MAX_LINES: usize = 3;
/// Rows of the screen from which a notification may have several lines.
const MULTILINE_MIN_ROWS: u16 = 20;

/// The lines of the notification, up to the limit.
pub(in crate::screen) fn message_height(state: &State, columns: u16, rows: u16) -> u16 {
    if rows < MULTILINE_MIN_ROWS || state.ui.prompt.is_some() {
        return 1;
    }
    let Some(notification) = CurrentNotification::of(state) else {
        return 1;
    };
    let lines = notification.lines(columns);
    let max_width = usize::from(columns.saturating_sub(2));
    let last = lines.last().map_or(0, |l| width(l)) + width(&notification.hint);
    (lines.len() + usize::from(last > max_width)).clamp(1, MAX_LINES) as u16
}

/// The current notification.
struct CurrentNotification {
    text: String,
    role: Role,
    hint: String,
}

impl CurrentNotification {
    fn of(state: &State) -> Option<Self> {
        let (note, more) = state.ui.notifications.current()?;
        let (word, role) = match note.severity {
            Severity::Info => ("", Role::Success),
            Severity::Hint => ("", Role::Warning),
            Severity::Warning => ("note: ", Role::Warning),
            Severity::Error => ("error: ", Role::Error),
        };
        Some(Self {
            text: format!("{word}{}", note.text),
            role,
            hint: match (note.severity, more) {
                (Severity::Info | Severity::Hint, 0) => String::new(),
                (_, 0) => "  esc dismisses".to_owned(),
                (_, n) => format!("  +{n} (m lists, esc dismisses)"),
            },
        })
    }

    fn lines(&self, columns: u16) -> Vec<String> {
        wrap(&self.text, columns.saturating_sub(2).max(1).into())
    }
}
