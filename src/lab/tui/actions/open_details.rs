//! Opening the details of a row.

use super::{Action, navigation};
use crate::msg::Cmd;
use crate::state::{PageKind, State, UnavailableReason, requires};

/// Opens the page with the details of the selected row.
#[derive(Debug)]
pub(crate) struct OpenDetails;

impl Action for OpenDetails {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::list(state)?;
        requires::row(state).map(|_| ())
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let row = state.ui.list().selected().cloned();
        navigation::open_page(state, PageKind::Details, row);
        Vec::new()
    }
}
