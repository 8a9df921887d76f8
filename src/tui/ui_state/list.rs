//! A list of rows with one selected, of which a window is shown. The selection follows the object,
//! not the place, so that rows that come and go do not move it.

use super::Filter;
use crate::model::NamespacedName;
use crate::model::cohort_tree::QuotaNode;
use crate::model::queues::FlavorResource;

/// What a row stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowId {
    /// A ClusterQueue or Cohort in the tree.
    QuotaNode(QuotaNode),
    /// The quota of one resource under it.
    Quota(QuotaNode, FlavorResource),
    /// A LocalQueue under its ClusterQueue.
    LocalQueue(NamespacedName),
    /// A Workload.
    Workload(NamespacedName),
    /// An eviction, by UID of the victim and moment.
    Eviction(String, jiff::Timestamp),
    /// A Node.
    Node(String),
    /// A preset.
    Preset(String),
    /// An Event.
    Event(NamespacedName),
}

/// What rows can be ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortBy {
    /// Namespace and name.
    Name,
    /// State, those that need attention first.
    State,
    /// LocalQueue.
    Queue,
    /// Priority, the highest first.
    Priority,
    /// Place in line.
    Position,
    /// Age, the youngest first.
    Age,
    /// Devices in use, the fullest first.
    DevicesUsed,
    /// Warnings first.
    Warning,
}

/// An order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// By what.
    pub by: SortBy,
    /// Whether the natural order is turned round.
    pub reversed: bool,
}

/// A list and the window on it.
#[derive(Clone, Debug, Default)]
pub struct ListState {
    /// All rows that pass the filter, in order.
    pub rows: Vec<RowId>,
    /// Place of the selected row.
    pub selected_index: usize,
    /// The row in the first line of the window.
    pub offset: usize,
    /// Lines of the window.
    pub height: usize,
    /// How many rows there are without the filter.
    pub unfiltered: usize,
    /// The filter.
    pub filter: Option<Filter>,
    /// The order; `None` for the view's own.
    pub sort: Option<Sort>,
    /// What the rows were made from, to see whether they have to be made again.
    pub rows_revision: Option<u64>,
    selected_id: Option<RowId>,
}

impl ListState {
    /// The selected row.
    pub fn selected(&self) -> Option<&RowId> {
        self.rows.get(self.selected_index)
    }

    /// Puts in other rows and keeps the selection on its object; where that is gone, on its place.
    pub fn set_rows(&mut self, rows: Vec<RowId>, unfiltered: usize) {
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

    /// Selects a row by its place.
    pub fn select_index(&mut self, at: usize) {
        self.selected_index = at;
        self.clamp_offset();
        self.selected_id = self.selected().cloned();
    }

    /// Moves the selection by so many rows.
    pub fn move_by(&mut self, rows: isize) {
        self.select_index(self.selected_index.saturating_add_signed(rows));
    }

    /// Selects the row of an object, or remembers to when it appears.
    pub fn select_row(&mut self, id: RowId) {
        if let Some(at) = self.rows.iter().position(|r| *r == id) {
            self.selected_index = at;
        }
        self.selected_id = Some(id);
        self.clamp_offset();
    }

    /// Gives the window so many lines.
    pub fn set_height(&mut self, height: usize) {
        self.height = height;
        self.clamp_offset();
    }

    /// The rows in the window, with their places.
    pub fn visible_rows(&self) -> impl Iterator<Item = (usize, &RowId)> {
        let end = (self.offset + self.height).min(self.rows.len());
        (self.offset..end).filter_map(|at| Some((at, self.rows.get(at)?)))
    }

    /// Keeps the selection among the rows and the window around the selection.
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

    fn nodes(names: &[&str]) -> Vec<RowId> {
        names.iter().map(|n| RowId::Node((*n).to_owned())).collect()
    }

    #[test]
    fn the_selection_follows_its_object() {
        let mut list = ListState::default();
        list.set_height(2);
        list.set_rows(nodes(&["a", "b", "c"]), 3);
        list.select_index(1);
        list.set_rows(nodes(&["0", "a", "aa", "b", "c"]), 5);
        assert_eq!(list.selected(), Some(&RowId::Node("b".to_owned())));
        list.set_rows(nodes(&["0", "a", "aa", "c"]), 4);
        assert_eq!(list.selected(), Some(&RowId::Node("c".to_owned())));
        list.set_rows(nodes(&["0", "a", "aa", "b", "c"]), 5);
        assert_eq!(list.selected(), Some(&RowId::Node("b".to_owned())));
    }

    #[test]
    fn a_row_can_be_sought_before_it_is_there() {
        let mut list = ListState::default();
        list.set_height(5);
        list.select_row(RowId::Node("b".to_owned()));
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
                let rows = (0..count).map(|n| RowId::Node(n.to_string())).collect();
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
