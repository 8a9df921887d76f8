//! What a view has to provide.

use std::fmt::Debug;
use std::hash::DefaultHasher;

use ratatui::layout::Rect;

use super::{RowQuery, ViewInfo};
use crate::model::{ManagedJobRef, ObjectKey, ObjectRef};
use crate::state::{ListState, RowId, State, TypedList, UnavailableReason};
use crate::widgets::table::ListArea;
use crate::widgets::{Canvas, PageBuilder};

/// A list with its own tab.
pub(crate) trait View: Sync + 'static {
    /// Identifies the object of a row. Only the file of the view reads it.
    type Row: Clone + Eq + Debug + Send + Sync + 'static;

    /// Its static description.
    const INFO: ViewInfo;

    /// The identifier of a row.
    fn row_id(row: Self::Row) -> RowId {
        RowId::new(Self::INFO.id, row)
    }

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
    fn rows(&self, state: &State, query: RowQuery<'_>) -> ViewRows<Self::Row>;

    /// Draws the column headings and the visible rows.
    fn draw(
        &self,
        state: &State,
        area: ListArea,
        list: TypedList<'_, Self::Row>,
        canvas: &mut Canvas<'_>,
    );

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
    fn row_title(&self, row: &Self::Row) -> String;

    /// The name to copy.
    fn row_name(&self, state: &State, row: &Self::Row) -> Option<String>;

    /// The line about the selected row in the message line.
    fn caption(&self, state: &State, row: &Self::Row) -> Option<String>;

    /// Writes the page with the details of a row.
    fn details(&self, state: &State, row: &Self::Row, page: &mut PageBuilder<'_>);

    /// The API object of a row.
    fn object(&self, state: &State, row: &Self::Row) -> Option<ObjectRef> {
        let _ = (state, row);
        None
    }

    /// What to delete so that the object of a row goes.
    ///
    /// # Errors
    /// Why the row cannot be deleted.
    fn deletion(&self, state: &State, row: &Self::Row) -> Result<Deletion, UnavailableReason>;

    /// The Workload of a row, to explain.
    fn workload(&self, state: &State, row: &Self::Row) -> Option<ObjectKey> {
        let _ = (state, row);
        None
    }

    /// The Workloads related to a row.
    fn related_workloads(&self, state: &State, row: &Self::Row) -> Option<RelatedWorkloads> {
        let _ = (state, row);
        None
    }

    /// The ClusterQueue related to a row.
    fn cluster_queue(&self, state: &State, row: &Self::Row) -> Option<String> {
        let _ = (state, row);
        None
    }

    /// The LocalQueue related to a row, preselected in the submit form.
    fn local_queue(&self, state: &State, row: &Self::Row) -> Option<ObjectKey> {
        let _ = (state, row);
        None
    }

    /// The preset of a row.
    fn preset(&self, state: &State, row: &Self::Row) -> Option<String> {
        let _ = (state, row);
        None
    }
}

/// The rows of a view.
pub(crate) struct ViewRows<R> {
    /// The rows that pass the filter, in order.
    pub(crate) rows: Vec<R>,
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
