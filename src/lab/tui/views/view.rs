//! What a view has to provide.

use std::hash::DefaultHasher;

use ratatui::layout::Rect;

use super::{RowQuery, ViewInfo};
use crate::model::{ManagedJobRef, ObjectKey, ObjectRef};
use crate::state::{ListState, RowId, State, UnavailableReason};
use crate::widgets::table::ListArea;
use crate::widgets::{Canvas, PageBuilder};

/// A list with its own tab. Only the file of a view reads what its [`RowId`]s hold; the rows of another view
/// have no details, object or relations.
pub(crate) trait View: Sync {
    /// Its static description.
    fn info(&self) -> &'static ViewInfo;

    /// A marker after the title on the tab.
    fn badge(&self, state: &State) -> &'static str {
        let _ = state;
        ""
    }

    /// The filter and selection, at the right of the tabs.
    fn list_status(&self, list: &ListState) -> String {
        match &list.filter {
            Some(filter) => format!("/{} {}/{}", filter.text, list.rows.len(), list.unfiltered),
            None if list.rows.is_empty() => String::new(),
            None => format!("{}/{}", list.selected_index + 1, list.rows.len()),
        }
    }

    /// Unused lines below `rows` rows in a window of `height`, which the scenario panel may take.
    fn free_lines(&self, rows: usize, height: u16) -> u16 {
        height.saturating_sub(u16::try_from(rows + 1).unwrap_or(u16::MAX))
    }

    /// Hashes everything `rows` depends on except filter, sort order and namespace.
    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher);

    /// The rows, filtered and sorted.
    fn rows(&self, state: &State, query: RowQuery<'_>) -> ViewRows;

    /// Draws the column headings and the visible rows.
    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>);

    /// The text shown when there are no rows, no watch fails and no filter hides any.
    fn empty_text(&self, state: &State) -> String;

    /// Draws below the last row, or below the text shown when there are no rows.
    fn draw_below(&self, state: &State, area: Rect, canvas: &mut Canvas<'_>) {
        let _ = (state, area, canvas);
    }

    /// A note in the last line of the list, however long it is.
    fn note(&self, state: &State) -> Option<String> {
        let _ = state;
        None
    }

    /// The title of the page with the details of a row.
    fn row_title(&self, id: &RowId) -> Option<String>;

    /// The name to copy.
    fn row_name(&self, state: &State, id: &RowId) -> Option<String>;

    /// The line about the selected row in the message line.
    fn caption(&self, state: &State, id: &RowId) -> Option<String>;

    /// Writes the page with the details of a row.
    fn details(&self, state: &State, id: &RowId, page: &mut PageBuilder<'_>);

    /// The API object of a row.
    fn object(&self, state: &State, id: &RowId) -> Option<ObjectRef> {
        let _ = (state, id);
        None
    }

    /// What to delete so that the object of a row goes.
    ///
    /// # Errors
    /// Why the row cannot be deleted.
    fn deletion(&self, state: &State, id: &RowId) -> Result<Deletion, UnavailableReason>;

    /// The Workload of a row, to explain.
    fn workload(&self, state: &State, id: &RowId) -> Option<ObjectKey> {
        let _ = (state, id);
        None
    }

    /// The Workloads related to a row.
    fn related_workloads(&self, state: &State, id: &RowId) -> Option<RelatedWorkloads> {
        let _ = (state, id);
        None
    }

    /// The ClusterQueue related to a row.
    fn cluster_queue(&self, state: &State, id: &RowId) -> Option<String> {
        let _ = (state, id);
        None
    }

    /// The LocalQueue related to a row, preselected in the submit form.
    fn local_queue(&self, state: &State, id: &RowId) -> Option<ObjectKey> {
        let _ = (state, id);
        None
    }

    /// The preset of a row.
    fn preset(&self, state: &State, id: &RowId) -> Option<String> {
        let _ = (state, id);
        None
    }
}

/// The rows of a view.
pub(crate) struct ViewRows {
    /// The rows that pass the filter, in order.
    pub(crate) rows: Vec<RowId>,
    /// The number of rows without the filter.
    pub(crate) unfiltered: usize,
}

/// What to delete so that the object of a row goes.
#[derive(Debug)]
pub(crate) struct Deletion {
    /// The objects to delete.
    pub(crate) objects: Vec<ObjectRef>,
    /// What else the deletion affects; empty for nothing.
    pub(crate) note: String,
    /// The managed job of SkyPilot to cancel instead: it would launch its Pods again.
    pub(crate) managed_job: Option<ManagedJobRef>,
}

/// The Workloads related to a row.
#[derive(Debug)]
pub(crate) enum RelatedWorkloads {
    /// Those that pass a filter.
    Filter(String),
    /// One Workload, or none if it is gone.
    One(Option<ObjectKey>),
    /// None, and the message about it.
    None(String),
}
