//! The message line: what is being typed, what waits to be read, or a remark on the selected row.

use ratatui::layout::Rect;

use crate::tui::state::State;
use crate::tui::text::width;
use crate::tui::theme::Role;
use crate::tui::ui::{PromptKind, Tone};
use crate::tui::view::canvas::{Canvas, spans_width};
use crate::tui::view::{Cursor, caption};

/// The line being typed, or the message that waits to be read.
pub(in crate::tui::view) fn message(state: &State, area: Rect, canvas: &mut Canvas<'_>) -> Cursor {
    if area.height == 0 {
        return None;
    }
    if let Some(prompt) = &state.ui.prompt {
        let text = format!("{}{}", prompt.kind.sign(), prompt.text);
        // The end of what is typed stays visible.
        let mut shown = text.as_str();
        while width(shown) + 2 > usize::from(area.width) && !shown.is_empty() {
            let skip = shown.chars().next().map_or(1, char::len_utf8);
            shown = &shown[skip..];
        }
        let used = canvas.text(area.x + 1, area.y, area.width, shown, Role::Input);
        let end = area.x + 1 + used;
        let others: Vec<&str> = prompt.completions.iter().map(String::as_str).collect();
        if prompt.kind == PromptKind::Command && prompt.taken.is_none() {
            let room = area.width.saturating_sub(end + 3);
            canvas.text(end + 3, area.y, room, &others.join("  "), Role::Dim);
        }
        return Some((end.min(area.right().saturating_sub(1)), area.y));
    }
    let Some((note, more)) = state.ui.notes.current() else {
        let caption = caption::of(state);
        canvas.text(
            area.x + 1,
            area.y,
            area.width.saturating_sub(2),
            &caption,
            Role::Dim,
        );
        return None;
    };
    let (word, role) = match note.tone {
        Tone::Done => ("", Role::Fine),
        Tone::Warning => ("note: ", Role::Lost),
        Tone::Error => ("error: ", Role::Bad),
    };
    let hint = match (note.tone, more) {
        (Tone::Done, 0) => String::new(),
        (_, 0) => "  esc dismisses".to_owned(),
        (_, n) => format!("  +{n} (m lists, esc dismisses)"),
    };
    let room = area.width.saturating_sub(width(&hint) as u16 + 2);
    let text = [
        canvas.span(word, role),
        canvas.span(note.text.clone(), role),
    ];
    let long = spans_width(&text) > usize::from(room);
    let used = canvas.spans(area.x + 1, area.y, room, &text);
    let hint = if long && more == 0 {
        "  m shows all".to_owned()
    } else {
        hint
    };
    canvas.text(area.x + 1 + used, area.y, area.width, &hint, Role::Dim);
    None
}
