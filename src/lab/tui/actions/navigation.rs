//! Navigation between views and pages.

use super::{ExplainWorkload, FetchObject};
use crate::msg::Cmd;
use crate::state::{Location, Page, PageKind, RowId, State, ViewId};

/// The most locations in history.
const MAX_HISTORY: usize = 50;

/// Goes to a view.
pub(crate) fn open_view(state: &mut State, view: ViewId) {
    if state.ui.view == view && state.ui.page.is_none() {
        return;
    }
    push_history(state);
    change_view(state, view);
    state.ui.page = None;
}

/// Opens a page over the view; `row` is the row it is about.
pub(crate) fn open_page(state: &mut State, kind: PageKind, row: Option<RowId>) {
    let open = state.ui.page.as_ref();
    if open.is_some_and(|p| p.kind == kind && p.row == row) {
        return;
    }
    push_history(state);
    state.ui.page = Some(Page::new(kind, row));
}

/// Opens a page about the current row and loads its text.
pub(crate) fn open_row_page(state: &mut State, kind: PageKind) -> Vec<Cmd> {
    let load = load_page(&kind);
    let row = state.current_row().cloned();
    open_page(state, kind, row);
    load.into_iter().collect()
}

/// Closes the page: to the details it was opened from, or to the view.
pub(crate) fn close_page(state: &mut State) {
    let last = state.ui.back_stack.last();
    let last = last.filter(|location| location.view == state.ui.view);
    let page = last.and_then(|location| location.page.clone());
    match page.filter(|(kind, _)| *kind == PageKind::Details) {
        Some((kind, row)) => {
            state.ui.back_stack.pop();
            state.ui.page = Some(Page::new(kind, row));
        }
        None => {
            push_history(state);
            state.ui.page = None;
        }
    }
}

/// Goes back or forward in history.
pub(crate) fn go_history(state: &mut State, back: bool) -> Vec<Cmd> {
    let ui = &mut state.ui;
    let here = ui.location();
    let (from, to) = match back {
        true => (&mut ui.back_stack, &mut ui.forward_stack),
        false => (&mut ui.forward_stack, &mut ui.back_stack),
    };
    let Some(location) = from.pop() else {
        return Vec::new();
    };
    to.push(here);
    change_view(state, location.view);
    let load = location.page.as_ref().and_then(|(kind, _)| load_page(kind));
    state.ui.page = location.page.map(|(kind, row)| Page::new(kind, row));
    load.into_iter().collect()
}

/// The command that loads the text of a page, if it is loaded.
fn load_page(kind: &PageKind) -> Option<Cmd> {
    match kind {
        PageKind::Describe(object) | PageKind::Yaml(object) => Some(Cmd::operation(FetchObject {
            page: kind.clone(),
            object: object.clone(),
        })),
        PageKind::Explain(key) => Some(Cmd::operation(ExplainWorkload(key.clone()))),
        PageKind::Details | PageKind::Notifications | PageKind::Help => None,
    }
}

fn change_view(state: &mut State, view: ViewId) {
    if state.ui.view != view {
        state.ui.last_view = Some(state.ui.view);
        state.ui.view = view;
    }
}

fn push_history(state: &mut State) {
    let here: Location = state.ui.location();
    state.ui.forward_stack.clear();
    if state.ui.back_stack.last() != Some(&here) {
        state.ui.back_stack.push(here);
    }
    if state.ui.back_stack.len() > MAX_HISTORY {
        state.ui.back_stack.remove(0);
    }
}
