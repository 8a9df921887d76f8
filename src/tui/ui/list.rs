//! A list of rows with one selected, of which a window is shown. The selection follows the object,
//! not the place, so that rows that come and go do not move it.

use super::Filter;
use crate::model::Key;
use crate::model::queues::FlavorResource;
use crate::model::quota::Member;

/// What a row stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowId {
    /// A ClusterQueue or Cohort in the tree.
    Member(Member),
    /// The quota of one resource under it.
    Quota(Member, FlavorResource),
    /// A LocalQueue under its ClusterQueue.
    LocalQueue(Key),
    /// A Workload.
    Workload(Key),
    /// An eviction, by UID of the victim and moment.
    Eviction(String, jiff::Timestamp),
    /// A Node.
    Node(String),
    /// A preset.
    Preset(String),
    /// An Event.
    Event(Key),
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
    Used,
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
pub struct List {
    /// All rows that pass the filter, in order.
    pub rows: Vec<RowId>,
    /// Place of the selected row.
    pub at: usize,
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
    pub stamp: Option<u64>,
    selected: Option<RowId>,
}

impl List {
    /// The selected row.
    pub fn selected(&self) -> Option<&RowId> {
        self.rows.get(self.at)
    }

    /// Puts in other rows and keeps the selection on its object; where that is gone, on its place.
    pub fn set_rows(&mut self, rows: Vec<RowId>, unfiltered: usize) {
        self.rows = rows;
        self.unfiltered = unfiltered;
        if let Some(id) = &self.selected
            && self.rows.get(self.at) != Some(id)
            && let Some(at) = self.rows.iter().position(|r| r == id)
        {
            self.at = at;
        }
        self.settle();
    }

    /// Selects a row by its place.
    pub fn go(&mut self, at: usize) {
        self.at = at;
        self.settle();
        self.selected = self.selected().cloned();
    }

    /// Moves the selection by so many rows.
    pub fn step(&mut self, rows: isize) {
        self.go(self.at.saturating_add_signed(rows));
    }

    /// Selects the row of an object, or remembers to when it appears.
    pub fn seek(&mut self, id: RowId) {
        if let Some(at) = self.rows.iter().position(|r| *r == id) {
            self.at = at;
        }
        self.selected = Some(id);
        self.settle();
    }

    /// Gives the window so many lines.
    pub fn set_height(&mut self, height: usize) {
        self.height = height;
        self.settle();
    }

    /// The rows in the window, with their places.
    pub fn window(&self) -> impl Iterator<Item = (usize, &RowId)> {
        let end = (self.offset + self.height).min(self.rows.len());
        (self.offset..end).filter_map(|at| Some((at, self.rows.get(at)?)))
    }

    /// Keeps the selection among the rows and the window around the selection.
    fn settle(&mut self) {
        self.at = self.at.min(self.rows.len().saturating_sub(1));
        let most = self.rows.len().saturating_sub(self.height);
        let first = (self.at + 1).saturating_sub(self.height);
        self.offset = self.offset.clamp(first, self.at.max(first)).min(most);
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
        let mut list = List::default();
        list.set_height(2);
        list.set_rows(nodes(&["a", "b", "c"]), 3);
        list.go(1);
        list.set_rows(nodes(&["0", "a", "aa", "b", "c"]), 5);
        assert_eq!(list.selected(), Some(&RowId::Node("b".to_owned())));
        list.set_rows(nodes(&["0", "a", "aa", "c"]), 4);
        assert_eq!(list.selected(), Some(&RowId::Node("c".to_owned())));
        list.set_rows(nodes(&["0", "a", "aa", "b", "c"]), 5);
        assert_eq!(list.selected(), Some(&RowId::Node("b".to_owned())));
    }

    #[test]
    fn a_row_can_be_sought_before_it_is_there() {
        let mut list = List::default();
        list.set_height(5);
        list.seek(RowId::Node("b".to_owned()));
        list.set_rows(nodes(&["a", "b"]), 2);
        assert_eq!(list.at, 1);
    }

    proptest! {
        #[test]
        fn the_selected_row_is_always_in_the_window(
            steps in prop::collection::vec((0usize..40, 0usize..12, -50isize..50), 1..20),
        ) {
            let mut list = List::default();
            for (count, height, step) in steps {
                list.set_height(height);
                let rows = (0..count).map(|n| RowId::Node(n.to_string())).collect();
                list.set_rows(rows, count);
                list.step(step);
                if height > 0 && count > 0 {
                    prop_assert!(list.window().any(|(at, _)| at == list.at));
                    prop_assert_eq!(list.window().count(), height.min(count));
                }
            }
        }
    }
}
