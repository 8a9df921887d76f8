//! Quitting and suspending the UI.

use super::Action;
use crate::msg::Cmd;
use crate::state::{Confirmation, Dialog, OnConfirm, State};
use crate::text::sanitize;

/// Quits; asks for confirmation if that stops the lab.
#[derive(Debug)]
pub(crate) struct Quit;

impl Action for Quit {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        if !state.env.stops_lab {
            return vec![Cmd::Quit];
        }
        let lab = sanitize(&state.env.cluster);
        state.ui.dialog = Some(Dialog::Confirm(Confirmation {
            title: "Quit",
            text: vec![format!("Quit and stop the lab {lab}? Its state is lost.")],
            on_confirm: OnConfirm::Quit,
        }));
        Vec::new()
    }
}

/// Stops the process until the shell continues it.
#[derive(Debug)]
pub(crate) struct Suspend;

impl Action for Suspend {
    fn run(&self, _: &mut State) -> Vec<Cmd> {
        vec![Cmd::Suspend]
    }
}

/// Quits without confirmation.
#[derive(Debug)]
pub(crate) struct QuitAtOnce;

impl Action for QuitAtOnce {
    fn run(&self, _: &mut State) -> Vec<Cmd> {
        vec![Cmd::Quit]
    }
}
