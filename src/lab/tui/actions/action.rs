//! What an action has to provide.

use std::fmt::Debug;

use crate::msg::Cmd;
use crate::state::{State, UnavailableReason};

/// Something that a key or a command does.
pub(crate) trait Action: Debug + Sync + 'static {
    /// Whether the action is available: on this cluster, in this window, for the current row.
    ///
    /// # Errors
    /// Why it is unavailable. Dispatch shows the reason; the footer shows only available actions.
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        let _ = state;
        Ok(())
    }

    /// Runs the action. Called only if `can` returns `Ok`.
    fn run(&self, state: &mut State) -> Vec<Cmd>;

    /// Runs the action with the argument of a command, which may be empty.
    fn run_with(&self, state: &mut State, argument: &str) -> Vec<Cmd> {
        let _ = argument;
        self.run(state)
    }

    /// The arguments that a command can be completed to.
    fn complete(&self, state: &State) -> Vec<String> {
        let _ = state;
        Vec::new()
    }

    /// Whether its key dismisses results that are some seconds old.
    fn expires_notifications(&self) -> bool {
        true
    }
}
