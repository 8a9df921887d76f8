//! The screen without a terminal: as plain text for tests, and as SVG for documents.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::msg::Msg;
use crate::state::State;
use crate::text::width;
use crate::{screen, update};

/// Draws a state into a buffer of this size.
pub(crate) fn render(state: &State, columns: u16, rows: u16) -> Buffer {
    let mut state = state.clone();
    update::update(&mut state, Msg::Resize(columns, rows));
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.ui.width, state.ui.height));
    screen::draw(&state, &mut buffer);
    buffer
}

/// A buffer as plain text, without trailing blanks.
pub fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for row in rows(buffer) {
        let mut line = String::new();
        let mut skip = 0;
        for cell in row {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            line.push_str(cell.symbol());
            skip = width(cell.symbol()).saturating_sub(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A buffer as SVG of a dark terminal.
pub fn svg(buffer: &Buffer) -> String {
    const COLUMN: f32 = 8.4;
    const ROW: f32 = 17.0;
    let (columns, lines) = (buffer.area.width, buffer.area.height);
    let (w, h) = (
        f32::from(columns) * COLUMN + 20.0,
        f32::from(lines) * ROW + 20.0,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w:.0}\" height=\"{h:.0}\" \
         viewBox=\"0 0 {w:.0} {h:.0}\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, \
         Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n"
    );
    for (y, row) in rows(buffer).enumerate() {
        let top = 10.0 + y as f32 * ROW;
        for (x, run) in style_runs(row) {
            let look = CellStyle::of(&run[0]);
            let left = 10.0 + x as f32 * COLUMN;
            let text_width = run.len() as f32 * COLUMN;
            if let Some(ground) = look.background {
                let _ = writeln!(
                    out,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{text_width:.1}\" height=\"{ROW}\" fill=\"{ground}\"/>"
                );
            }
            let text: String = run.iter().map(|c| escape(c.symbol())).collect();
            if text.trim().is_empty() {
                continue;
            }
            let base = top + 13.0;
            let _ = writeln!(
                out,
                "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{text_width:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" fill=\"{}\"{}>{text}</text>",
                look.foreground, look.attributes
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn rows(buffer: &Buffer) -> impl Iterator<Item = &[Cell]> {
    let columns = usize::from(buffer.area.width).max(1);
    buffer.content.chunks(columns)
}

/// Runs of cells of equal style, with the column of the first.
fn style_runs(row: &[Cell]) -> Vec<(usize, &[Cell])> {
    let mut out = Vec::new();
    let mut start = 0;
    let alike = |a: &Cell, b: &Cell| a.fg == b.fg && a.bg == b.bg && a.modifier == b.modifier;
    for x in 1..=row.len() {
        if x == row.len() || !alike(&row[start], &row[x]) {
            out.push((start, &row[start..x]));
            start = x;
        }
    }
    out
}

/// The SVG style of a run of cells.
struct CellStyle {
    foreground: &'static str,
    background: Option<&'static str>,
    attributes: String,
}

impl CellStyle {
    fn of(cell: &Cell) -> Self {
        const PAPER: &str = "#16181d";
        const INK: &str = "#d7dae0";
        let has = |m| cell.modifier.contains(m);
        let ink = palette_color(cell.fg).unwrap_or(INK);
        let (foreground, background) = if has(Modifier::REVERSED) {
            (PAPER, Some(ink))
        } else {
            (ink, palette_color(cell.bg))
        };
        let mut attributes = String::new();
        if has(Modifier::BOLD) {
            attributes.push_str(" font-weight=\"bold\"");
        }
        if has(Modifier::DIM) {
            attributes.push_str(" opacity=\"0.6\"");
        }
        if has(Modifier::UNDERLINED) {
            attributes.push_str(" text-decoration=\"underline\"");
        }
        Self {
            foreground,
            background,
            attributes,
        }
    }
}

/// The palette colours of the theme.
fn palette_color(color: Color) -> Option<&'static str> {
    match color {
        Color::Red => Some("#f0716b"),
        Color::Yellow => Some("#e5b567"),
        Color::Blue => Some("#6ca8f0"),
        Color::Magenta => Some("#c792ea"),
        Color::Cyan => Some("#56c2d6"),
        _ => None,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
