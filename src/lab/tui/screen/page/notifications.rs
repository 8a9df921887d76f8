//! All notifications, newest first.

use crate::state::{Severity, State};
use crate::text::{clock_time, wrap};
use crate::theme::Role;
use crate::widgets::PageBuilder;

/// Writes the notifications.
pub(super) fn write(state: &State, doc: &mut PageBuilder<'_>) {
    let mut none = true;
    for note in state.ui.notifications.newest_first() {
        none = false;
        let (word, role) = match note.severity {
            Severity::Info => ("done ", Role::Success),
            Severity::Hint | Severity::Warning => ("note ", Role::Warning),
            Severity::Error => ("error", Role::Error),
        };
        let time = clock_time(note.at, &state.env.zone);
        let max_width = doc.width().saturating_sub(16);
        for (n, line) in wrap(&note.text, max_width).into_iter().enumerate() {
            let lead = if n == 0 {
                [
                    doc.span(format!("{time}  "), Role::Dim),
                    doc.span(format!("{word} "), role),
                ]
            } else {
                [
                    doc.span(" ".repeat(10), Role::Dim),
                    doc.span("      ", role),
                ]
            };
            let mut spans = lead.to_vec();
            spans.push(doc.span(line, Role::Text));
            doc.line(spans);
        }
    }
    if none {
        doc.text("No messages yet.", Role::Dim);
    }
}
