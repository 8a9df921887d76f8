//! Filtering and ordering of rows.

use std::fmt::Debug;

use super::ViewRows;
use crate::model::meta::Labels;
use crate::state::{Filter, ListState, RowId, Sort, SortBy, ViewId};

/// The labels of rows without labels.
pub(super) static NO_LABELS: Labels = Labels::new();

/// The filter and sort order of a list.
#[derive(Clone, Copy)]
pub(crate) struct RowQuery<'a> {
    filter: Option<&'a Filter>,
    sort: Option<Sort>,
}

impl<'a> RowQuery<'a> {
    pub(crate) fn of(list: &'a ListState) -> Self {
        Self {
            filter: list.filter.as_ref(),
            sort: list.sort,
        }
    }

    /// Whether there is a filter.
    pub(super) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether a row with this text and these labels passes the filter.
    pub(super) fn passes(&self, text: impl FnOnce() -> String, labels: &Labels) -> bool {
        self.filter.is_none_or(|f| f.matches(&text(), labels))
    }

    /// The sort key; `None` for the default order.
    pub(super) fn sort_by(&self) -> Option<SortBy> {
        self.sort.map(|s| s.by)
    }

    /// The sorted rows of a view, reversed if the sort order is.
    pub(super) fn in_direction<R: Eq + Debug + Send + Sync + 'static>(
        &self,
        view: ViewId,
        rows: impl Iterator<Item = R>,
        unfiltered: usize,
    ) -> ViewRows {
        let mut rows: Vec<RowId> = rows.map(|row| RowId::new(view, row)).collect();
        if self.sort.is_some_and(|s| s.reversed) {
            rows.reverse();
        }
        ViewRows { rows, unfiltered }
    }
}
