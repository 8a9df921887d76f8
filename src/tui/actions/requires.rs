//! Conditions that several actions share.

use super::UnavailableReason;
use crate::backend::PresetList;
use crate::model::ObjectRef;
use crate::state::State;
use crate::views::RowId;

/// The window is not read-only; `what` is the verb phrase of the action.
pub(super) fn writable(state: &State, what: &'static str) -> Result<(), UnavailableReason> {
    match state.env.read_only {
        true => Err(UnavailableReason::ReadOnly(what)),
        false => Ok(()),
    }
}

/// The lab has presets.
pub(super) fn presets(state: &State) -> Result<&PresetList, UnavailableReason> {
    let presets = state.presets.as_deref();
    presets.ok_or(UnavailableReason::NoLab("presets"))
}

/// A list is shown, not a page.
pub(super) fn list(state: &State) -> Result<(), UnavailableReason> {
    match state.ui.page {
        Some(_) => Err(UnavailableReason::NotApplicable),
        None => Ok(()),
    }
}

/// The row of the open page or the selected row.
pub(super) fn row(state: &State) -> Result<&RowId, UnavailableReason> {
    state.current_row().ok_or(UnavailableReason::NotApplicable)
}

/// The API object of the current row.
pub(super) fn object(state: &State) -> Result<ObjectRef, UnavailableReason> {
    let row = state.current_row();
    row.and_then(|row| row.view().object(state, row))
        .ok_or_else(|| UnavailableReason::because("this row has no API object"))
}
