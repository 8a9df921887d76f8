//! Running actions.

use crate::actions::{Action, UnavailableReason};
use crate::msg::Cmd;
use crate::state::State;
use crate::ui_state::Severity;

use super::notify;

/// Runs an action if it is available, or else notifies why it is not. `argument` is that of a
/// command; `None` for a key.
pub(super) fn dispatch(state: &mut State, action: &dyn Action, argument: Option<&str>) -> Vec<Cmd> {
    match action.can(state) {
        Err(UnavailableReason::NotApplicable) => Vec::new(),
        Err(reason) => {
            notify(state, Severity::Warning, reason.to_string());
            Vec::new()
        }
        Ok(()) => match argument {
            Some(argument) => action.run_with(state, argument),
            None => action.run(state),
        },
    }
}
