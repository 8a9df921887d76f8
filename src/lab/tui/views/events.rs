//! The view of Events, newest first.

use std::hash::{DefaultHasher, Hash};

use super::details::event;
use super::row_query::NO_LABELS;
use super::{Deletion, RelatedWorkloads, RowQuery, View, ViewInfo, ViewRows};
use crate::model::event::EventRow;
use crate::model::workload::Owner;
use crate::model::{Kind, ObjectKey, ObjectRef, Row};
use crate::state::{ListState, RowId, SortBy, State, TypedList, UnavailableReason, ViewId};
use crate::text::clock_time;
use crate::theme::Role;
use crate::widgets::format::short_kind;
use crate::widgets::table::{self, Cell, Column, ListArea};
use crate::widgets::{Canvas, PageBuilder};

/// The columns in a list of this width.
fn columns(width: u16) -> [Column; 7] {
    [
        Column::new("TIME", 8, 8, 0).no_truncate(),
        Column::new("TYPE", 4, 7, 4)
            .no_truncate()
            .sort_by(SortBy::Warning),
        Column::new("REASON", 10, 28, 1).name().preferred(width / 6),
        Column::new("NS", 4, 16, 6).no_truncate(),
        Column::new("OBJECT", 18, 52, 3)
            .name()
            .sort_by(SortBy::Name)
            .preferred(width / 5),
        Column::new("MESSAGE", 20, 200, 2).fraction(3),
        Column::new("FROM", 10, 36, 5).no_truncate(),
    ]
}

/// The view of Events; a row is the name of an Event.
pub(crate) struct EventsView;

impl View for EventsView {
    fn info(&self) -> &'static ViewInfo {
        &ViewInfo {
            title: "Events",
            help: "events",
            command_names: &["events", "ev", "event"],
            kind: Some(Kind::Event),
            namespaced: true,
            side_panel: false,
            sorts: &[SortBy::Name, SortBy::Warning],
        }
    }

    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher) {
        state.data.events.revision().hash(hasher);
    }

    fn rows(&self, state: &State, query: RowQuery<'_>) -> ViewRows {
        let mut unfiltered = 0;
        let mut found = Vec::new();
        for e in state.data.events.newest_first() {
            if !e.object.namespace.is_empty() && !state.shows_namespace(&e.object.namespace) {
                continue;
            }
            unfiltered += 1;
            if query.passes(|| filter_text(e), &NO_LABELS) {
                found.push(e);
            }
        }
        match query.sort_by() {
            Some(SortBy::Warning) => found.sort_by_key(|e| !e.warning),
            Some(SortBy::Name) => {
                found.sort_by(|a, b| (&a.object, &a.kind).cmp(&(&b.object, &b.kind)));
            }
            _ => {}
        }
        query.in_direction(
            ViewId::Events,
            found.into_iter().map(|e| e.key.clone()),
            unfiltered,
        )
    }

    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>) {
        let list = TypedList::<ObjectKey>::new(list);
        table::draw(canvas, area, &columns(area.rows.width), list, |c, key| {
            Some(row(state, c, state.data.events.get(key)?))
        });
    }

    fn empty_text(&self, _: &State) -> String {
        "No events yet.".to_owned()
    }

    fn row_title(&self, _: &RowId) -> Option<String> {
        Some("Event".to_owned())
    }

    fn row_name(&self, _: &State, id: &RowId) -> Option<String> {
        let key = id.get::<ObjectKey>()?;
        Some(key.name.clone())
    }

    fn caption(&self, state: &State, id: &RowId) -> Option<String> {
        let key = id.get::<ObjectKey>()?;
        Some(state.data.events.get(key)?.message.clone())
    }

    fn details(&self, state: &State, id: &RowId, page: &mut PageBuilder<'_>) {
        let Some(key) = id.get::<ObjectKey>() else {
            return;
        };
        match state.data.events.get(key) {
            Some(found) => event::write(state, found, page),
            None => page.not_found("Event", &key.to_string()),
        }
    }

    fn object(&self, _: &State, id: &RowId) -> Option<ObjectRef> {
        let key = id.get::<ObjectKey>()?;
        Some(ObjectRef::watched(Kind::Event, key.clone()))
    }

    fn deletion(&self, _: &State, _: &RowId) -> Result<Deletion, UnavailableReason> {
        Err(UnavailableReason::because("Events cannot be deleted here"))
    }

    fn related_workloads(&self, state: &State, id: &RowId) -> Option<RelatedWorkloads> {
        let key = id.get::<ObjectKey>()?;
        let event = state.data.events.get(key);
        let workload = event.and_then(|e| match e.kind.as_str() {
            "Workload" => Some(e.object.clone()),
            "Pod" => state.derived.workload_of(&e.object).cloned(),
            kind => {
                let owns = |o: &Owner| o.kind == kind && o.name == e.object.name;
                let mut all = state.data.workloads.iter();
                all.find(|wl| {
                    wl.key().namespace == e.object.namespace && wl.owners.iter().any(owns)
                })
                .map(|wl| wl.key().clone())
            }
        });
        Some(match workload {
            Some(workload) => RelatedWorkloads::One(Some(workload)),
            None => RelatedWorkloads::None("no workload belongs to this Event".to_owned()),
        })
    }
}

fn filter_text(e: &EventRow) -> String {
    format!(
        "{} {} {} {} {} {}",
        if e.warning { "Warning" } else { "Normal" },
        e.reason,
        e.kind,
        e.object,
        e.source,
        e.message
    )
}

fn row(state: &State, c: &Canvas<'_>, e: &EventRow) -> Vec<Cell> {
    let (word, role) = if e.warning {
        ("Warn", Role::Error)
    } else {
        ("", Role::Dim)
    };
    let reason = if e.count > 1 {
        format!("{} x{}", e.reason, e.count)
    } else {
        e.reason.clone()
    };
    let object = format!("{}/{}", short_kind(&e.kind), e.object.name);
    vec![
        vec![c.span(clock_time(e.at, &state.env.zone), Role::Dim)],
        vec![c.span(word, role)],
        vec![c.span(reason, if e.warning { Role::Error } else { Role::Text })],
        vec![c.span(e.object.namespace.clone(), Role::Dim)],
        vec![c.span(object, Role::Text)],
        vec![c.span(e.message.clone(), Role::Text)],
        vec![c.span(e.source.clone(), Role::Dim)],
    ]
}
