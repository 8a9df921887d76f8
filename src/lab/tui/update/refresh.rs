//! Refreshing what follows from the state before it is drawn: derived data, rows, windows, pages.
//! Unchanged parts are not computed again.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::screen::{layout, page};
use crate::state::{PageContent, PageKind, State, ViewId};
use crate::views::{self, RowQuery};

/// Refreshes what follows from the state.
pub fn refresh(state: &mut State) {
    state.derived.refresh(&state.data);
    refresh_rows(state, state.ui.view);
    let screen = layout::screen_layout(state);
    state.ui.list_mut().set_height(screen.rows.height.into());
    refresh_page(state, &screen);
}

fn refresh_rows(state: &mut State, id: ViewId) {
    let revision = rows_revision(state, id);
    if state.ui.list().rows_revision != Some(revision) {
        let query = RowQuery::of(state.ui.list());
        let found = views::by_id(id).rows(state, query);
        let list = state.ui.list_mut();
        list.set_rows(found.rows, found.unfiltered);
        list.rows_revision = Some(revision);
    }
}

/// A hash of everything that the rows of a view depend on.
fn rows_revision(state: &State, id: ViewId) -> u64 {
    let mut hasher = DefaultHasher::new();
    let list = &state.ui.lists[id.index()];
    list.filter.as_ref().map(|f| &f.text).hash(&mut hasher);
    let sort = list.sort.map(|s| (s.by as u8, s.reversed));
    sort.hash(&mut hasher);
    state.ui.namespace.hash(&mut hasher);
    views::by_id(id).hash_revision(state, &mut hasher);
    hasher.finish()
}

fn refresh_page(state: &mut State, screen: &layout::ScreenLayout) {
    let Some(page) = &state.ui.page else {
        return;
    };
    let live = match &page.kind {
        PageKind::Details | PageKind::Notifications | PageKind::Help => {
            let (kind, row) = (&page.kind, page.row.as_ref());
            Some(page::lines(state, kind, row, screen.page.width))
        }
        PageKind::Describe(_) | PageKind::Yaml(_) | PageKind::Explain(_) => None,
    };
    if let Some(page) = &mut state.ui.page {
        if let Some(lines) = live {
            page.content = PageContent::Live(lines);
        }
        if let PageContent::Fetched(lines, wrapped) = &mut page.content {
            wrapped.wrap_to(lines, screen.page.width);
        }
        page.height = screen.page.height.into();
        page.clamp_offset();
    }
}
