//! The lines of pages.

use ratatui::text::Line;

use super::{help, notifications};
use crate::state::{PageKind, RowId, State};
use crate::views;
use crate::widgets::PageBuilder;

/// The lines of a page that is made from the state; `row` is the row it is about.
pub(crate) fn lines(
    state: &State,
    kind: &PageKind,
    row: Option<&RowId>,
    width: u16,
) -> Vec<Line<'static>> {
    let mut page = PageBuilder::new(state, width);
    match (kind, row) {
        (PageKind::Details, Some(row)) => views::of_row(row).details(state, row, &mut page),
        (PageKind::Notifications, _) => notifications::write(state, &mut page),
        (PageKind::Help, _) => help::write(state, &mut page),
        (PageKind::Details, None)
        | (PageKind::Describe(_) | PageKind::Yaml(_) | PageKind::Explain(_), _) => {}
    }
    page.finish()
}
