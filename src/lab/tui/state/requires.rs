//! Conditions that actions require and views show.

use super::{PageKind, RowId, State, UnavailableReason};
use crate::backend::{Demo, PresetList};

const PAST: &str = "the past cannot be changed; esc returns to the present";
const RECORDING: &str = "a recording cannot be changed";

/// The window is not read-only; `what` is the verb phrase of the action.
pub(crate) fn writable(state: &State, what: &'static str) -> Result<(), UnavailableReason> {
    match &state.ui.past {
        Some(past) if past.can_leave => return Err(UnavailableReason::because(PAST)),
        Some(_) => return Err(UnavailableReason::Unsupported(RECORDING)),
        None => {}
    }
    match state.env.read_only {
        true => Err(UnavailableReason::ReadOnly(what)),
        false => Ok(()),
    }
}

/// The window can submit workloads.
pub(crate) fn submission(state: &State) -> Result<(), UnavailableReason> {
    writable(state, "submit workloads")
}

/// The window can run demos.
pub(crate) fn demos(state: &State) -> Result<&[Demo], UnavailableReason> {
    writable(state, "run a demo")?;
    match state.env.demos.is_empty() {
        true => Err(UnavailableReason::NoLab("demos")),
        false => Ok(&state.env.demos),
    }
}

/// The window can switch presets.
pub(crate) fn presets(state: &State) -> Result<&PresetList, UnavailableReason> {
    writable(state, "switch presets")?;
    let presets = state.presets.as_deref();
    presets.ok_or(UnavailableReason::NoLab("presets"))
}

/// A list is shown, not a page.
pub(crate) fn list(state: &State) -> Result<(), UnavailableReason> {
    match state.ui.page {
        Some(_) => Err(UnavailableReason::NotApplicable),
        None => Ok(()),
    }
}

/// The open page is of another kind, or no page is open.
pub(crate) fn other_page(state: &State, kind: &PageKind) -> Result<(), UnavailableReason> {
    match &state.ui.page {
        Some(page) if page.kind == *kind => Err(UnavailableReason::NotApplicable),
        _ => Ok(()),
    }
}

/// The row of the open page or the selected row.
pub(crate) fn row(state: &State) -> Result<&RowId, UnavailableReason> {
    state.current_row().ok_or(UnavailableReason::NotApplicable)
}
