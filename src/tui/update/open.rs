//! Going to views and pages, and back.

use crate::actions::ObjectRef;
use crate::model::Kind;
use crate::msg::Cmd;
use crate::state::State;
use crate::ui::{Page, PageKind, Place, RowId, Tone, ViewId};

use super::say;

/// The most places that are remembered.
const MOST_PLACES: usize = 50;

/// Goes to a view.
pub(super) fn view(state: &mut State, view: ViewId) {
    if state.ui.view == view && state.ui.page.is_none() {
        return;
    }
    remember(state);
    change_view(state, view);
    state.ui.page = None;
}

/// Opens a page over the view.
pub(super) fn page(state: &mut State, kind: PageKind) {
    if state.ui.page.as_ref().is_some_and(|p| p.kind == kind) {
        return;
    }
    remember(state);
    state.ui.page = Some(Page::new(kind));
}

/// Closes the page: to the page below it, or to the view.
pub(super) fn close(state: &mut State) {
    let below = state
        .ui
        .past
        .last()
        .filter(|place| place.view == state.ui.view);
    let below = below.and_then(|place| place.page.clone());
    let nested = below.filter(|kind| matches!(kind, PageKind::Details(_)));
    match nested {
        Some(kind) => {
            state.ui.past.pop();
            state.ui.page = Some(Page::new(kind));
        }
        None => {
            remember(state);
            state.ui.page = None;
        }
    }
}

/// Opens a page with the object of the selected row or open page.
pub(super) fn object(state: &mut State, kind: fn(ObjectRef) -> PageKind) -> Vec<Cmd> {
    let object = match state.ui.page.as_ref().map(|p| &p.kind) {
        Some(PageKind::Describe(o) | PageKind::Yaml(o)) => Some(o.clone()),
        Some(PageKind::Explain(key)) => state.object(&RowId::Workload(key.clone())),
        _ => state.subject().and_then(|id| state.object(id)),
    };
    let Some(object) = object else {
        say(state, Tone::Warning, "there is no object behind this");
        return Vec::new();
    };
    page(state, kind(object.clone()));
    vec![Cmd::Fetch(object)]
}

/// Opens a page with the engine's reasons.
pub(super) fn explain(state: &mut State) -> Vec<Cmd> {
    let key = match state.ui.page.as_ref().map(|p| &p.kind) {
        Some(PageKind::Describe(o) | PageKind::Yaml(o)) if o.kind == Kind::Workload.name() => {
            Some(o.key.clone())
        }
        _ => match state.subject() {
            Some(RowId::Workload(key)) => Some(key.clone()),
            Some(RowId::Eviction(uid, at)) => {
                state.eviction(uid, *at).map(|e| e.victim.key.clone())
            }
            _ => None,
        },
    };
    let Some(key) = key else {
        say(state, Tone::Warning, "only workloads can be explained");
        return Vec::new();
    };
    if !state.env.can_explain {
        say(
            state,
            Tone::Warning,
            "no explanation here: decisions are made by another controller; enter shows what it says",
        );
        return Vec::new();
    }
    page(state, PageKind::Explain(key.clone()));
    vec![Cmd::Explain(key)]
}

/// Goes back or forward in history.
pub(super) fn history(state: &mut State, back: bool) -> Vec<Cmd> {
    let from = if back {
        state.ui.past.pop()
    } else {
        state.ui.future.pop()
    };
    let Some(place) = from else {
        return Vec::new();
    };
    let here = state.ui.place();
    if back {
        state.ui.future.push(here);
    } else {
        state.ui.past.push(here);
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

fn remember(state: &mut State) {
    let here: Place = state.ui.place();
    state.ui.future.clear();
    if state.ui.past.last() != Some(&here) {
        state.ui.past.push(here);
    }
    if state.ui.past.len() > MOST_PLACES {
        state.ui.past.remove(0);
    }
}
