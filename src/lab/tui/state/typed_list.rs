//! A list whose rows are those of one view.

use std::marker::PhantomData;

use super::{ListState, RowId};

/// A list with rows of type `R`.
pub(crate) struct TypedList<'a, R> {
    /// The list.
    pub(crate) state: &'a ListState,
    rows: PhantomData<&'a R>,
}

impl<'a, R: 'static> TypedList<'a, R> {
    pub(crate) fn new(state: &'a ListState) -> Self {
        Self {
            state,
            rows: PhantomData,
        }
    }

    /// All rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a R> {
        self.state.rows.iter().filter_map(RowId::get)
    }

    /// The rows in the window, with their indexes.
    pub(crate) fn visible_rows(&self) -> impl Iterator<Item = (usize, &'a R)> {
        let visible = self.state.visible_rows();
        visible.filter_map(|(at, id)| Some((at, id.get()?)))
    }
}
