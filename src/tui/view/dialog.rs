//! Questions, menus and forms in the middle of the screen.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use crate::state::State;
use crate::text::{sanitize, width, wrap};
use crate::theme::Role;
use crate::ui_state::{Confirmation, Dialog, Menu, SubmitForm};

/// Draws what lies over everything.
pub(super) fn draw(state: &State, overlay: &Dialog, all: Rect, canvas: &mut Canvas<'_>) {
    match overlay {
        Dialog::Confirm(question) => draw_confirmation(state, question, all, canvas),
        Dialog::Menu(menu) => draw_menu(menu, all, canvas),
        Dialog::Form(form) => draw_submit_form(form, all, canvas),
    }
}

/// A rectangle of at most that size in the middle.
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

fn draw_confirmation(state: &State, question: &Confirmation, all: Rect, canvas: &mut Canvas<'_>) {
    let (title, mut text) = match question {
        Confirmation::Quit => (
            "Quit",
            vec![format!(
                "Leave, and stop the lab {}? Everything in it is gone then.",
                sanitize(&state.env.cluster)
            )],
        ),
        Confirmation::Delete(objects, remark) => {
            let mut names: Vec<String> = objects
                .iter()
                .take(4)
                .map(|o| format!("Delete {o}?"))
                .collect();
            if objects.len() > 4 {
                names.push(format!("and {} more", objects.len() - 4));
            }
            names.push(remark.clone());
            ("Delete", names)
        }
    };
    text.push(String::new());
    text.push("enter or y: yes    esc or n: no".to_owned());
    let room = 60.min(usize::from(all.width).saturating_sub(4));
    let lines: Vec<String> = text.iter().flat_map(|t| wrap(t, room)).collect();
    let inner = canvas.bordered(centered(all, room + 4, lines.len() + 2), title);
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
    let remarks = menu.items.iter().map(|(_, r)| width(r)).max().unwrap_or(0);
    let columns = (names + remarks + 8).clamp(30, usize::from(all.width).max(30));
    let area = centered(all, columns, menu.items.len().max(1) + 2);
    let inner = canvas.bordered(area, menu.kind.title());
    let lines = usize::from(inner.height);
    let first = (menu.at + 1).saturating_sub(lines);
    let window = menu.items.iter().enumerate().skip(first);
    for ((at, (name, remark)), y) in window.zip(inner.top()..inner.bottom()) {
        let here = if at == menu.at {
            canvas.glyphs.highlight
        } else {
            " "
        };
        canvas.text(inner.x, y, 2, here, Role::Bold);
        let room = inner.width.saturating_sub(2);
        canvas.text(inner.x + 2, y, room, name, Role::Bold);
        let x = inner.x + 4 + names as u16;
        canvas.text(x, y, inner.right().saturating_sub(x), remark, Role::Dim);
        if at == menu.at {
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
        let here = if at == form.focused {
            canvas.glyphs.highlight
        } else {
            " "
        };
        canvas.text(inner.x, y, 2, here, Role::Bold);
        let room = inner.width.saturating_sub(2);
        canvas.text(inner.x + 2, y, room, &field.label(), Role::Text);
        let x = inner.x + 4 + labels as u16;
        let room = inner.right().saturating_sub(x);
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
        canvas.text(x, y, room, &text, role);
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
