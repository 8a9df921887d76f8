//! Sorting the list.

use super::Action;
use crate::msg::Cmd;
use crate::state::{Sort, SortBy, State, UnavailableReason, requires};
use crate::views;

/// Sorts the list; if it is sorted that way already, reverses the order.
#[derive(Debug)]
pub(crate) struct SortRows(pub(crate) SortBy);

impl Action for SortRows {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::list(state)?;
        match views::by_id(state.ui.view).info().sorts.contains(&self.0) {
            true => Ok(()),
            false => Err(UnavailableReason::NotApplicable),
        }
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let list = state.ui.list_mut();
        let reversed = list.sort.is_some_and(|s| s.by == self.0 && !s.reversed);
        list.sort = Some(Sort {
            by: self.0,
            reversed,
        });
        Vec::new()
    }
}
