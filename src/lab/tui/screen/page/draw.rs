//! Draws pages.

use ratatui::layout::Rect;

use crate::state::{Page, PageContent, PageKind};
use crate::text::{width, wrap};
use crate::theme::Role;
use crate::views;
use crate::widgets::Canvas;

/// The title of a page.
fn title(page: &Page) -> String {
    match (&page.kind, &page.row) {
        (PageKind::Details, Some(row)) => views::of_row(row).row_title(row).unwrap_or_default(),
        (PageKind::Details, None) => String::new(),
        (PageKind::Describe(object), _) => format!("{object} (described)"),
        (PageKind::Yaml(object), _) => format!("{object} (YAML)"),
        (PageKind::Explain(key), _) => format!("Workload {key} (explained)"),
        (PageKind::Notifications, _) => "Messages".to_owned(),
        (PageKind::Help, _) => "Keys and commands".to_owned(),
    }
}

/// Draws the title and the visible lines of a page.
pub(in crate::screen) fn draw(page: &Page, heading: Rect, area: Rect, canvas: &mut Canvas<'_>) {
    let total = page.content.line_count();
    let mut shown = format!(" {} ", title(page));
    if total > page.height && page.height > 0 {
        let last = (page.offset + page.height).min(total);
        shown.push_str(&format!("  {}-{last} of {total} ", page.offset + 1));
    }
    if let Some(search) = &page.search {
        let matches = page.matching_lines().count();
        shown.push_str(&format!("  /{}: {matches} lines ", search.text));
    }
    canvas.text(heading.x, heading.y, heading.width, &shown, Role::ActiveTab);
    let window = page.offset..(page.offset + usize::from(area.height)).min(total);
    match &page.content {
        PageContent::Live(lines) => {
            for (line, y) in lines[window].iter().zip(area.top()..area.bottom()) {
                canvas.line(area.x + 1, y, area.width.saturating_sub(2), line);
                highlight(canvas, page, area, y, &line.to_string());
            }
        }
        PageContent::Fetched(_, wrapped) => {
            for (line, y) in wrapped.lines[window].iter().zip(area.top()..area.bottom()) {
                fetched_line(canvas, area, y, line);
                highlight(canvas, page, area, y, line);
            }
        }
        PageContent::Loading => {
            canvas.text(area.x + 1, area.y, area.width, "Fetching ...", Role::Dim);
        }
        PageContent::Failed(error) => {
            let max_width = usize::from(area.width.saturating_sub(2));
            for (line, y) in wrap(error, max_width).iter().zip(area.top()..area.bottom()) {
                canvas.text(area.x + 1, y, area.width, line, Role::Error);
            }
        }
    }
    canvas.scrollbar(area, page.offset, total);
}

/// Draws the matches of the search in a line again, highlighted.
fn highlight(canvas: &mut Canvas<'_>, page: &Page, area: Rect, y: u16, line: &str) {
    let Some(search) = &page.search else { return };
    let right = area.right().saturating_sub(1);
    for range in search.ranges(line) {
        let before = u16::try_from(width(&line[..range.start])).unwrap_or(u16::MAX);
        let x = (area.x + 1).saturating_add(before);
        if x < right {
            canvas.text(x, y, right - x, &line[range], Role::Match);
        }
    }
}

/// Draws a line of a fetched document; the text before the first colon is a key.
fn fetched_line(canvas: &mut Canvas<'_>, area: Rect, y: u16, line: &str) {
    let max_width = area.width.saturating_sub(2);
    let body = line.trim_start_matches([' ', '-']);
    let lead = line.len() - body.len();
    let key = body
        .find(':')
        .filter(|at| !body[..*at].contains([' ', '"', '\'']));
    match key {
        Some(at) => {
            let (key, rest) = line.split_at(lead + at + 1);
            let used = canvas.text(area.x + 1, y, max_width, key, Role::Key);
            canvas.text(area.x + 1 + used, y, max_width - used, rest, Role::Text);
        }
        None => {
            canvas.text(area.x + 1, y, max_width, line, Role::Text);
        }
    }
}
