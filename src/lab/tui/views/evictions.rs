//! The view of evictions: the evicted workload, its preemptor, their priorities and the policy.

use std::hash::{DefaultHasher, Hash};

use jiff::Timestamp;

use super::details::eviction;
use super::row_query::NO_LABELS;
use super::{Deletion, RelatedWorkloads, RowQuery, View, ViewInfo, ViewRows};
use crate::model::evictions::{Eviction, InvolvedWorkload};
use crate::model::{Kind, ObjectKey, ObjectRef};
use crate::state::{ListState, RowId, SortBy, State, TypedList, UnavailableReason, ViewId};
use crate::text::clock_time;
use crate::theme::Role;
use crate::widgets::format::requests_text;
use crate::widgets::table::{self, Cell, Column, ListArea};
use crate::widgets::{Canvas, PageBuilder};

const COLUMNS: [Column; 9] = [
    Column::new("TIME", 8, 8, 0).no_truncate(),
    Column::new("EVICTED", 16, 44, 1)
        .preferred(22)
        .name()
        .sort_by(SortBy::Name),
    Column::new("PRI", 4, 8, 5).right().no_truncate(),
    Column::new("PREEMPTOR", 16, 44, 2).preferred(22).name(),
    Column::new("PRI", 4, 8, 6).right().no_truncate(),
    Column::new("REQUESTS", 8, 24, 7),
    Column::new("REASON", 12, 30, 3).no_truncate(),
    Column::new("POLICY", 18, 52, 4).no_truncate(),
    Column::new("QUEUES", 12, 50, 8).name(),
];

/// Identifies an eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EvictionRow {
    /// UID of the evicted Workload.
    uid: String,
    /// Time of the eviction.
    at: Timestamp,
}

/// The view of evictions and preemptions.
pub(crate) struct EvictionsView;

impl View for EvictionsView {
    fn info(&self) -> &'static ViewInfo {
        &ViewInfo {
            title: "Preemptions",
            help: "evictions and preemptions",
            command_names: &["preemptions", "pr", "evictions", "feed"],
            kind: Some(Kind::Workload),
            namespaced: false,
            side_panel: true,
            sorts: &[SortBy::Name],
        }
    }

    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher) {
        state.data.evictions.revision().hash(hasher);
    }

    fn rows(&self, state: &State, query: RowQuery<'_>) -> ViewRows {
        let mut found = Vec::new();
        let mut unfiltered = 0;
        for e in state.data.evictions.newest_first() {
            if !state.shows_namespace(&e.evicted.key.namespace) {
                continue;
            }
            unfiltered += 1;
            if query.passes(|| filter_text(e), &NO_LABELS) {
                found.push(e);
            }
        }
        if query.sort_by() == Some(SortBy::Name) {
            found.sort_by(|a, b| a.evicted.key.cmp(&b.evicted.key));
        }
        let rows = found.into_iter().map(|e| EvictionRow {
            uid: e.evicted.uid.clone(),
            at: e.at,
        });
        query.in_direction(ViewId::Evictions, rows, unfiltered)
    }

    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>) {
        let shown: Vec<&Eviction> = state.data.evictions.newest_first().collect();
        let short = one_namespace(&shown);
        let list = TypedList::<EvictionRow>::new(list);
        table::draw(canvas, area, &COLUMNS, list, |c, id| {
            Some(row(state, c, find(state, id)?, short))
        });
    }

    fn empty_text(&self, _: &State) -> String {
        "No evictions yet.".to_owned()
    }

    fn row_title(&self, _: &RowId) -> Option<String> {
        Some("Eviction".to_owned())
    }

    fn row_name(&self, state: &State, id: &RowId) -> Option<String> {
        let row = id.get::<EvictionRow>()?;
        Some(find(state, row)?.evicted.key.name.clone())
    }

    fn caption(&self, state: &State, id: &RowId) -> Option<String> {
        let row = id.get::<EvictionRow>()?;
        let e = find(state, row)?;
        let mut text = e.evicted.display_name();
        if let Some(p) = &e.preemptor {
            text = format!("{text} preempted by {}", p.display_name());
            if !p.requests.is_empty() {
                text = format!("{text}, which requests {}", requests_text(&p.requests));
            }
        }
        let policy = if e.policy.is_empty() {
            String::new()
        } else {
            format!(" ({})", e.policy)
        };
        Some(format!("{text}: {}{policy}", e.reason_text()))
    }

    fn details(&self, state: &State, id: &RowId, page: &mut PageBuilder<'_>) {
        let Some(row) = id.get::<EvictionRow>() else {
            return;
        };
        match find(state, row) {
            Some(found) => eviction::write(state, found, page),
            None => page.not_found("eviction of", &row.uid),
        }
    }

    fn object(&self, state: &State, id: &RowId) -> Option<ObjectRef> {
        let key = self.workload(state, id)?;
        Some(ObjectRef::watched(Kind::Workload, key))
    }

    fn deletion(&self, _: &State, _: &RowId) -> Result<Deletion, UnavailableReason> {
        Err(UnavailableReason::because("evictions cannot be deleted"))
    }

    fn workload(&self, state: &State, id: &RowId) -> Option<ObjectKey> {
        let row = id.get::<EvictionRow>()?;
        Some(find(state, row)?.evicted.key.clone())
    }

    fn related_workloads(&self, state: &State, id: &RowId) -> Option<RelatedWorkloads> {
        Some(RelatedWorkloads::One(self.workload(state, id)))
    }

    fn cluster_queue(&self, state: &State, id: &RowId) -> Option<String> {
        let row = id.get::<EvictionRow>()?;
        let e = find(state, row)?;
        let preemptor = e.preemptor.as_ref().map(|p| &p.cluster_queue);
        Some(preemptor.unwrap_or(&e.evicted.cluster_queue).clone())
    }
}

/// The eviction of a row.
fn find<'a>(state: &'a State, row: &EvictionRow) -> Option<&'a Eviction> {
    let mut all = state.data.evictions.newest_first();
    all.find(|e| e.evicted.uid == row.uid && e.at == row.at)
}

fn filter_text(e: &Eviction) -> String {
    let by = e.preemptor.as_ref();
    format!(
        "{} {} {} {} {} {}",
        e.evicted.display_name(),
        e.evicted.cluster_queue,
        by.map(|p| p.display_name()).unwrap_or_default(),
        by.map_or("", |p| p.cluster_queue.as_str()),
        e.reason,
        e.reason_text()
    )
}

/// Whether all evicted workloads and preemptors are in one namespace, which is then not shown.
fn one_namespace(all: &[&Eviction]) -> bool {
    let involved = all
        .iter()
        .flat_map(|e| std::iter::once(&e.evicted).chain(&e.preemptor));
    let mut names = involved
        .filter(|p| !p.key.name.is_empty())
        .map(|p| p.key.namespace.as_str());
    let first = names.next();
    names.all(|ns| Some(ns) == first)
}

fn row(state: &State, c: &Canvas<'_>, e: &Eviction, short: bool) -> Vec<Cell> {
    let cell = |text: String, role| vec![c.span(text, role)];
    let priority = |p: Option<&InvolvedWorkload>| {
        let number = p.and_then(|p| p.priority);
        number.map_or_else(|| "-".to_owned(), |n| n.to_string())
    };
    let by = e.preemptor.as_ref();
    let name = |p: &InvolvedWorkload| {
        if (short || state.ui.namespace.is_some()) && !p.key.name.is_empty() {
            p.key.name.clone()
        } else {
            p.display_name()
        }
    };
    let queues = match by {
        Some(p) if p.cluster_queue != e.evicted.cluster_queue => format!(
            "{} {} {}",
            e.evicted.cluster_queue, c.glyphs.arrow, p.cluster_queue
        ),
        _ => e.evicted.cluster_queue.clone(),
    };
    vec![
        cell(clock_time(e.at, &state.env.zone), Role::Dim),
        cell(name(&e.evicted), Role::Warning),
        cell(priority(Some(&e.evicted)), Role::Text),
        cell(by.map_or_else(|| "-".to_owned(), name), Role::Success),
        cell(priority(by), Role::Text),
        cell(
            by.filter(|p| !p.requests.is_empty())
                .map_or_else(|| "-".to_owned(), |p| requests_text(&p.requests)),
            Role::Text,
        ),
        cell(e.reason.clone(), Role::Text),
        cell(
            if e.policy.is_empty() {
                "-".to_owned()
            } else {
                e.policy.clone()
            },
            Role::Text,
        ),
        cell(queues, Role::Dim),
    ]
}
