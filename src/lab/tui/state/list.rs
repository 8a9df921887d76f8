//! A list of rows with a selection and a window. The selection follows its object, not its index,
//! when rows are added or removed.

use super::{Filter, RowId};

/// What rows can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SortBy {
    /// Namespace and name.
    Name,
    /// State, most urgent first.
    State,
    /// LocalQueue.
    Queue,
    /// Priority, highest first.
    Priority,
    /// Position in the ClusterQueue.
    Position,
    /// Age, newest first.
    Age,
    /// Devices in use, most first.
    DevicesUsed,
    /// Warnings first.
    Warning,
}

/// A sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sort {
    /// The key.
    pub by: SortBy,
    /// Whether the order is reversed.
    pub reversed: bool,
}

/// A list, its selection and window.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListState {
    /// The rows that pass the filter, in order.
    pub rows: Vec<RowId>,
    /// Index of the selected row.
    pub selected_index: usize,
    /// Index of the first row in the window.
    pub offset: usize,
    /// Lines of the window.
    pub height: usize,
    /// The number of rows without the filter.
    pub unfiltered: usize,
    /// The filter.
    pub filter: Option<Filter>,
    /// The sort order; `None` for the default order of the view.
    pub sort: Option<Sort>,
    /// Hash of the source of the rows; the rows are built again when it changes.
    pub rows_revision: Option<u64>,
    selected_id: Option<RowId>,
}

impl ListState {
    /// The selected row.
    pub(crate) fn selected(&self) -> Option<&RowId> {
        self.rows.get(self.selected_index)
    }

    /// Replaces the rows. The selection stays on its object, or if that is gone on its index.
    pub(crate) fn set_rows(&mut self, rows: Vec<RowId>, unfiltered: usize) {
        self.rows = rows;
        self.unfiltered = unfiltered;
        if let Some(id) = &self.selected_id
            && self.rows.get(self.selected_index) != Some(id)
            && let Some(at) = self.rows.iter().position(|r| r == id)
        {
            self.selected_index = at;
        }
        self.clamp_offset();
    }

    /// Selects a row by its index.
    pub(crate) fn select_index(&mut self, at: usize) {
        self.selected_index = at;
        self.clamp_offset();
        self.selected_id = self.selected().cloned();
    }

    /// Moves the selection; positive is down.
    pub(crate) fn move_by(&mut self, rows: isize) {
        self.select_index(self.selected_index.saturating_add_signed(rows));
    }

    /// Selects a row now, or as soon as it exists.
    pub(crate) fn select_row(&mut self, id: RowId) {
        if let Some(at) = self.rows.iter().position(|r| *r == id) {
            self.selected_index = at;
        }
        self.selected_id = Some(id);
        self.clamp_offset();
    }

    /// Sets the lines of the window.
    pub(crate) fn set_height(&mut self, height: usize) {
        self.height = height;
        self.clamp_offset();
    }

    /// The rows in the window, with their indexes.
    pub(crate) fn visible_rows(&self) -> impl Iterator<Item = (usize, &RowId)> {
        let end = (self.offset + self.height).min(self.rows.len());
        (self.offset..end).filter_map(|at| Some((at, self.rows.get(at)?)))
    }

    /// Keeps the selection in the list and the window around the selection.
    fn clamp_offset(&mut self) {
        self.selected_index = self.selected_index.min(self.rows.len().saturating_sub(1));
        let most = self.rows.len().saturating_sub(self.height);
        let first = (self.selected_index + 1).saturating_sub(self.height);
        self.offset = self
            .offset
            .clamp(first, self.selected_index.max(first))
            .min(most);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::state::ViewId;

    fn node(name: &str) -> RowId {
        RowId::new(ViewId::Nodes, name.to_owned())
    }

    fn nodes(names: &[&str]) -> Vec<RowId> {
        names.iter().map(|n| node(n)).collect()
    }

    #[test]
    fn the_selection_follows_its_object() {
        let mut list = ListState::default();
        list.set_height(2);
        list.set_rows(nodes(&["a", "b", "c"]), 3);
        list.select_index(1);
        list.set_rows(nodes(&["0", "a", "aa", "b", "c"]), 5);
        assert_eq!(list.selected(), Some(&node("b")));
        list.set_rows(nodes(&["0", "a", "aa", "c"]), 4);
        assert_eq!(list.selected(), Some(&node("c")));
        list.set_rows(nodes(&["0", "a", "aa", "b", "c"]), 5);
        assert_eq!(list.selected(), Some(&node("b")));
    }

    #[test]
    fn a_row_can_be_selected_before_it_exists() {
        let mut list = ListState::default();
        list.set_height(5);
        list.select_row(node("b"));
        list.set_rows(nodes(&["a", "b"]), 2);
        assert_eq!(list.selected_index, 1);
    }

    proptest! {
        #[test]
        fn the_selected_row_is_always_in_the_window(
            steps in prop::collection::vec((0usize..40, 0usize..12, -50isize..50), 1..20),
        ) {
            let mut list = ListState::default();
            for (count, height, step) in steps {
                list.set_height(height);
                let rows = (0..count).map(|n| node(&n.to_string())).collect();
                list.set_rows(rows, count);
                list.move_by(step);
                if height > 0 && count > 0 {
                    prop_assert!(list.visible_rows().any(|(at, _)| at == list.selected_index));
                    prop_assert_eq!(list.visible_rows().count(), height.min(count));
                }
            }
        }
    }
}
