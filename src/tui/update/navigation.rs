//! Going to views and pages, and back.

use crate::model::Kind;
use crate::msg::Cmd;
use crate::operations::ObjectRef;
use crate::state::State;
use crate::ui_state::{Location, Page, PageKind, RowId, Severity, ViewId};

use super::notify;

/// The most places that are remembered.
const MAX_HISTORY: usize = 50;

/// Goes to a view.
pub(super) fn open_view(state: &mut State, view: ViewId) {
    if state.ui.view == view && state.ui.page.is_none() {
        return;
    }
    push_history(state);
    change_view(state, view);
    state.ui.page = None;
}

/// Opens a page over the view.
pub(super) fn open_page(state: &mut State, kind: PageKind) {
    if state.ui.page.as_ref().is_some_and(|p| p.kind == kind) {
        return;
    }
    push_history(state);
    state.ui.page = Some(Page::new(kind));
}

/// Closes the page: to the page below it, or to the view.
pub(super) fn close_page(state: &mut State) {
    let below = state
        .ui
        .back_stack
        .last()
        .filter(|place| place.view == state.ui.view);
    let below = below.and_then(|place| place.page.clone());
    let nested = below.filter(|kind| matches!(kind, PageKind::Details(_)));
    match nested {
        Some(kind) => {
            state.ui.back_stack.pop();
            state.ui.page = Some(Page::new(kind));
        }
        None => {
            push_history(state);
            state.ui.page = None;
        }
    }
}

/// Opens a page with the object of the selected row or open page.
pub(super) fn open_object_page(state: &mut State, kind: fn(ObjectRef) -> PageKind) -> Vec<Cmd> {
    let object = match state.ui.page.as_ref().map(|p| &p.kind) {
        Some(PageKind::Describe(o) | PageKind::Yaml(o)) => Some(o.clone()),
        Some(PageKind::Explain(key)) => state.object_ref(&RowId::Workload(key.clone())),
        _ => state.current_row().and_then(|id| state.object_ref(id)),
    };
    let Some(object) = object else {
        notify(state, Severity::Warning, "there is no object behind this");
        return Vec::new();
    };
    open_page(state, kind(object.clone()));
    vec![Cmd::Fetch(object)]
}

/// Opens a page with the engine's reasons.
pub(super) fn open_explanation(state: &mut State) -> Vec<Cmd> {
    let key = match state.ui.page.as_ref().map(|p| &p.kind) {
        Some(PageKind::Describe(o) | PageKind::Yaml(o)) if o.kind == Kind::Workload.name() => {
            Some(o.key.clone())
        }
        _ => match state.current_row() {
            Some(RowId::Workload(key)) => Some(key.clone()),
            Some(RowId::Eviction(uid, at)) => {
                state.eviction(uid, *at).map(|e| e.victim.key.clone())
            }
            _ => None,
        },
    };
    let Some(key) = key else {
        notify(state, Severity::Warning, "only workloads can be explained");
        return Vec::new();
    };
    if !state.env.can_explain {
        notify(
            state,
            Severity::Warning,
            "no explanation here: decisions are made by another controller; enter shows what it says",
        );
        return Vec::new();
    }
    open_page(state, PageKind::Explain(key.clone()));
    vec![Cmd::Explain(key)]
}

/// Goes back or forward in history.
pub(super) fn go_history(state: &mut State, back: bool) -> Vec<Cmd> {
    let from = if back {
        state.ui.back_stack.pop()
    } else {
        state.ui.forward_stack.pop()
    };
    let Some(place) = from else {
        return Vec::new();
    };
    let here = state.ui.location();
    if back {
        state.ui.forward_stack.push(here);
    } else {
        state.ui.back_stack.push(here);
    }
    change_view(state, place.view);
    let wish = match &place.page {
        Some(PageKind::Describe(o) | PageKind::Yaml(o)) => Some(Cmd::Fetch(o.clone())),
        Some(PageKind::Explain(key)) => Some(Cmd::Explain(key.clone())),
        _ => None,
    };
    state.ui.page = place.page.map(Page::new);
    wish.into_iter().collect()
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
