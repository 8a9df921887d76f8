//! Running actions.

use crate::actions::Action;
use crate::msg::Cmd;
use crate::state::{Severity, State, UnavailableReason};

/// Runs an action if it is available, or else notifies why it is not. `argument` is that of a
/// command; `None` for a key.
pub(super) fn dispatch(state: &mut State, action: &dyn Action, argument: Option<&str>) -> Vec<Cmd> {
    match action.can(state) {
        Err(UnavailableReason::NotApplicable) => Vec::new(),
        Err(reason) => {
            state.notify(Severity::Hint, reason.to_string());
            Vec::new()
        }
        Ok(()) => match argument {
            Some(argument) => action.run_with(state, argument),
            None => action.run(state),
        },
    }
}
