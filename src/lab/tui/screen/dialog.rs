//! Draws dialogs in the middle of the screen.

use ratatui::layout::Rect;

use crate::state::{Confirmation, Dialog, Menu, OnConfirm, SubmitForm};
use crate::text::{width, wrap};
use crate::theme::Role;
use crate::widgets::Canvas;

/// Draws the open dialog.
pub(super) fn draw(dialog: &Dialog, all: Rect, canvas: &mut Canvas<'_>) {
    match dialog {
        Dialog::Confirm(confirmation) => draw_confirmation(confirmation, all, canvas),
        Dialog::Menu(menu) => draw_menu(menu, all, canvas),
        Dialog::Form(form) => draw_submit_form(form, all, canvas),
    }
}

/// A rectangle of at most that size in the middle of the screen.
fn centered(all: Rect, columns: usize, lines: usize) -> Rect {
    let width = (columns.min(usize::from(all.width))) as u16;
    let height = (lines.min(usize::from(all.height))) as u16;
    Rect {
        x: all.x + (all.width - width) / 2,
        y: all.y + (all.height - height) / 2,
        width,
        height,
    }
}

fn draw_confirmation(confirmation: &Confirmation, all: Rect, canvas: &mut Canvas<'_>) {
    let mut text = confirmation.text.clone();
    text.push(String::new());
    let yes = match confirmation.on_confirm {
        OnConfirm::Quit => "enter or y",
        OnConfirm::Delete(_) | OnConfirm::CancelManagedJob(_) | OnConfirm::StartDemo(_) => "y",
    };
    text.push(format!("{yes}: yes    esc or n: no"));
    let max_width = 60.min(usize::from(all.width).saturating_sub(4));
    let lines: Vec<String> = text.iter().flat_map(|t| wrap(t, max_width)).collect();
    let inner = canvas.bordered(
        centered(all, max_width + 4, lines.len() + 2),
        confirmation.title,
    );
    for (line, y) in lines.iter().zip(inner.top()..inner.bottom()) {
        canvas.text(
            inner.x + 1,
            y,
            inner.width.saturating_sub(1),
            line,
            Role::Text,
        );
    }
}

fn draw_menu(menu: &Menu, all: Rect, canvas: &mut Canvas<'_>) {
    let names = menu
        .items
        .iter()
        .map(|(name, _)| width(name))
        .max()
        .unwrap_or(0);
    let notes = menu.items.iter().map(|(_, r)| width(r)).max().unwrap_or(0);
    let columns = (names + notes + 8).clamp(30, usize::from(all.width).max(30));
    let area = centered(all, columns, menu.items.len().max(1) + 2);
    let inner = canvas.bordered(area, menu.title);
    let lines = usize::from(inner.height);
    let first = (menu.selected + 1).saturating_sub(lines);
    let window = menu.items.iter().enumerate().skip(first);
    for ((at, (name, note)), y) in window.zip(inner.top()..inner.bottom()) {
        draw_marker(canvas, inner.x, y, at == menu.selected);
        let max_width = inner.width.saturating_sub(2);
        canvas.text(inner.x + 2, y, max_width, name, Role::Bold);
        let x = inner.x + 4 + names as u16;
        canvas.text(x, y, inner.right().saturating_sub(x), note, Role::Dim);
        if at == menu.selected {
            canvas.select(Rect {
                y,
                height: 1,
                ..inner
            });
        }
    }
    if menu.items.is_empty() {
        canvas.text(
            inner.x + 1,
            inner.y,
            inner.width,
            "There are none.",
            Role::Dim,
        );
    }
}

/// Draws the marker of the selected item.
fn draw_marker(canvas: &mut Canvas<'_>, x: u16, y: u16, selected: bool) {
    let marker = if selected {
        canvas.glyphs.highlight
    } else {
        " "
    };
    canvas.text(x, y, 2, marker, Role::Bold);
}

fn draw_submit_form(form: &SubmitForm, all: Rect, canvas: &mut Canvas<'_>) {
    let labels = form
        .fields
        .iter()
        .map(|f| width(&f.label()))
        .max()
        .unwrap_or(0);
    let area = centered(all, labels + 44, form.fields.len() + 4);
    let inner = canvas.bordered(area, "Submit sample workloads");
    let lines = usize::from(inner.height.saturating_sub(2)).max(1);
    let first = (form.focused + 1).saturating_sub(lines);
    let window = form.fields.iter().enumerate().skip(first).take(lines);
    for ((at, field), y) in window.zip(inner.top()..inner.bottom()) {
        draw_marker(canvas, inner.x, y, at == form.focused);
        let max_width = inner.width.saturating_sub(2);
        canvas.text(inner.x + 2, y, max_width, &field.label(), Role::Text);
        let x = inner.x + 4 + labels as u16;
        let max_width = inner.right().saturating_sub(x);
        let text = if at == form.focused {
            format!("< {} >", field.text())
        } else {
            format!("  {}", field.text())
        };
        let role = if at == form.focused {
            Role::Bold
        } else {
            Role::Text
        };
        canvas.text(x, y, max_width, &text, role);
    }
    if inner.height > 1 {
        let y = inner.bottom() - 1;
        let help = "arrows or digits change, enter submits, esc closes";
        canvas.text(
            inner.x + 1,
            y,
            inner.width.saturating_sub(1),
            help,
            Role::Dim,
        );
    }
}
