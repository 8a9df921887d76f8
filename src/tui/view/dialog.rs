//! Questions, menus and forms in the middle of the screen.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use crate::state::State;
use crate::text::{clean, width, wrap};
use crate::theme::Role;
use crate::ui::{Menu, Overlay, Question, SampleForm};

/// Draws what lies over everything.
pub(super) fn draw(state: &State, overlay: &Overlay, all: Rect, canvas: &mut Canvas<'_>) {
    match overlay {
        Overlay::Confirm(question) => confirm(state, question, all, canvas),
        Overlay::Menu(menu) => choose(menu, all, canvas),
        Overlay::Sample(form) => sample(form, all, canvas),
    }
}

/// A rectangle of at most that size in the middle.
fn middle(all: Rect, columns: usize, lines: usize) -> Rect {
    let width = (columns.min(usize::from(all.width))) as u16;
    let height = (lines.min(usize::from(all.height))) as u16;
    Rect {
        x: all.x + (all.width - width) / 2,
        y: all.y + (all.height - height) / 2,
        width,
        height,
    }
}

fn confirm(state: &State, question: &Question, all: Rect, canvas: &mut Canvas<'_>) {
    let (title, mut text) = match question {
        Question::Quit => (
            "Quit",
            vec![format!(
                "Leave, and stop the lab {}? Everything in it is gone then.",
                clean(&state.env.cluster)
            )],
        ),
        Question::Delete(objects, remark) => {
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
    let inner = canvas.boxed(middle(all, room + 4, lines.len() + 2), title);
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

fn choose(menu: &Menu, all: Rect, canvas: &mut Canvas<'_>) {
    let names = menu
        .items
        .iter()
        .map(|(name, _)| width(name))
        .max()
        .unwrap_or(0);
    let remarks = menu.items.iter().map(|(_, r)| width(r)).max().unwrap_or(0);
    let columns = (names + remarks + 8).clamp(30, usize::from(all.width).max(30));
    let area = middle(all, columns, menu.items.len().max(1) + 2);
    let inner = canvas.boxed(area, menu.choice.title());
    let lines = usize::from(inner.height);
    let first = (menu.at + 1).saturating_sub(lines);
    let window = menu.items.iter().enumerate().skip(first);
    for ((at, (name, remark)), y) in window.zip(inner.top()..inner.bottom()) {
        let here = if at == menu.at {
            canvas.glyphs.here
        } else {
            " "
        };
        canvas.text(inner.x, y, 2, here, Role::Strong);
        let room = inner.width.saturating_sub(2);
        canvas.text(inner.x + 2, y, room, name, Role::Strong);
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

fn sample(form: &SampleForm, all: Rect, canvas: &mut Canvas<'_>) {
    let labels = form
        .fields
        .iter()
        .map(|f| width(&f.label()))
        .max()
        .unwrap_or(0);
    let area = middle(all, labels + 44, form.fields.len() + 4);
    let inner = canvas.boxed(area, "Submit sample workloads");
    let lines = usize::from(inner.height.saturating_sub(2)).max(1);
    let first = (form.at + 1).saturating_sub(lines);
    let window = form.fields.iter().enumerate().skip(first).take(lines);
    for ((at, field), y) in window.zip(inner.top()..inner.bottom()) {
        let here = if at == form.at {
            canvas.glyphs.here
        } else {
            " "
        };
        canvas.text(inner.x, y, 2, here, Role::Strong);
        let room = inner.width.saturating_sub(2);
        canvas.text(inner.x + 2, y, room, &field.label(), Role::Text);
        let x = inner.x + 4 + labels as u16;
        let room = inner.right().saturating_sub(x);
        let text = if at == form.at {
            format!("< {} >", field.text())
        } else {
            format!("  {}", field.text())
        };
        let role = if at == form.at {
            Role::Strong
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
