//! A view without the type of its rows.

use std::hash::DefaultHasher;

use ratatui::layout::Rect;

use super::{Deletion, RelatedWorkloads, RowQuery, View, ViewInfo};
use crate::model::{ObjectKey, ObjectRef};
use crate::state::{ListState, RowId, State, TypedList, UnavailableReason};
use crate::widgets::table::ListArea;
use crate::widgets::{Canvas, PageBuilder};

/// [`View`] over [`RowId`]; rows of another view have no details, object or relations.
pub(crate) trait AnyView: Sync {
    fn info(&self) -> &'static ViewInfo;
    fn badge(&self, state: &State) -> &'static str;
    fn list_status(&self, list: &ListState) -> String;
    fn free_lines(&self, rows: usize, height: u16) -> u16;
    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher);
    /// The rows for the filter and order of the list, and their number without the filter.
    fn rows(&self, state: &State, list: &ListState) -> (Vec<RowId>, usize);
    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>);
    fn empty_text(&self, state: &State) -> String;
    fn draw_below(&self, state: &State, area: Rect, canvas: &mut Canvas<'_>);
    fn note(&self, state: &State) -> Option<String>;
    fn row_title(&self, row: &RowId) -> String;
    fn row_name(&self, state: &State, row: &RowId) -> Option<String>;
    fn caption(&self, state: &State, row: &RowId) -> Option<String>;
    fn details(&self, state: &State, row: &RowId, page: &mut PageBuilder<'_>);
    fn object(&self, state: &State, row: &RowId) -> Option<ObjectRef>;
    fn deletion(&self, state: &State, row: &RowId) -> Result<Deletion, UnavailableReason>;
    fn workload(&self, state: &State, row: &RowId) -> Option<ObjectKey>;
    fn related_workloads(&self, state: &State, row: &RowId) -> Option<RelatedWorkloads>;
    fn cluster_queue(&self, state: &State, row: &RowId) -> Option<String>;
    fn local_queue(&self, state: &State, row: &RowId) -> Option<ObjectKey>;
    fn preset(&self, state: &State, row: &RowId) -> Option<String>;
}

impl<V: View> AnyView for V {
    fn info(&self) -> &'static ViewInfo {
        &V::INFO
    }

    fn badge(&self, state: &State) -> &'static str {
        V::badge(self, state)
    }

    fn list_status(&self, list: &ListState) -> String {
        V::list_status(self, list)
    }

    fn free_lines(&self, rows: usize, height: u16) -> u16 {
        V::free_lines(self, rows, height)
    }

    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher) {
        V::hash_revision(self, state, hasher);
    }

    fn rows(&self, state: &State, list: &ListState) -> (Vec<RowId>, usize) {
        let found = V::rows(self, state, RowQuery::of(list));
        let rows = found.rows.into_iter().map(V::row_id).collect();
        (rows, found.unfiltered)
    }

    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>) {
        V::draw(self, state, area, TypedList::new(list), canvas);
    }

    fn empty_text(&self, state: &State) -> String {
        V::empty_text(self, state)
    }

    fn draw_below(&self, state: &State, area: Rect, canvas: &mut Canvas<'_>) {
        V::draw_below(self, state, area, canvas);
    }

    fn note(&self, state: &State) -> Option<String> {
        V::note(self, state)
    }

    fn row_title(&self, row: &RowId) -> String {
        row.get::<V::Row>()
            .map(|row| V::row_title(self, row))
            .unwrap_or_default()
    }

    fn row_name(&self, state: &State, row: &RowId) -> Option<String> {
        V::row_name(self, state, row.get::<V::Row>()?)
    }

    fn caption(&self, state: &State, row: &RowId) -> Option<String> {
        V::caption(self, state, row.get::<V::Row>()?)
    }

    fn details(&self, state: &State, row: &RowId, page: &mut PageBuilder<'_>) {
        if let Some(row) = row.get::<V::Row>() {
            V::details(self, state, row, page);
        }
    }

    fn object(&self, state: &State, row: &RowId) -> Option<ObjectRef> {
        V::object(self, state, row.get::<V::Row>()?)
    }

    fn deletion(&self, state: &State, row: &RowId) -> Result<Deletion, UnavailableReason> {
        let row = row
            .get::<V::Row>()
            .ok_or(UnavailableReason::NotApplicable)?;
        V::deletion(self, state, row)
    }

    fn workload(&self, state: &State, row: &RowId) -> Option<ObjectKey> {
        V::workload(self, state, row.get::<V::Row>()?)
    }

    fn related_workloads(&self, state: &State, row: &RowId) -> Option<RelatedWorkloads> {
        V::related_workloads(self, state, row.get::<V::Row>()?)
    }

    fn cluster_queue(&self, state: &State, row: &RowId) -> Option<String> {
        V::cluster_queue(self, state, row.get::<V::Row>()?)
    }

    fn local_queue(&self, state: &State, row: &RowId) -> Option<ObjectKey> {
        V::local_queue(self, state, row.get::<V::Row>()?)
    }

    fn preset(&self, state: &State, row: &RowId) -> Option<String> {
        V::preset(self, state, row.get::<V::Row>()?)
    }
}
