//! A list whose rows are those of one view.

use super::{RowId, View};
use crate::ui_state::ListState;

/// A list with rows of type `R`.
pub(crate) struct TypedList<'a, R> {
    /// The list.
    pub(crate) state: &'a ListState,
    get: fn(&RowId) -> Option<&R>,
}

impl<'a, R: 'static> TypedList<'a, R> {
    pub(crate) fn new<V: View<Row = R>>(state: &'a ListState) -> Self {
        Self {
            state,
            get: RowId::get::<V>,
        }
    }

    /// All rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a R> {
        let get = self.get;
        self.state.rows.iter().filter_map(get)
    }

    /// The rows in the window, with their indexes.
    pub(crate) fn visible_rows(&self) -> impl Iterator<Item = (usize, &'a R)> {
        let get = self.get;
        let visible = self.state.visible_rows();
        visible.filter_map(move |(at, id)| Some((at, get(id)?)))
    }
}
