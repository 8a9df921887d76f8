//! Pages that belong to no row.

use super::{Action, navigation};
use crate::msg::Cmd;
use crate::state::{PageKind, State};

/// Shows the keys and commands.
#[derive(Debug)]
pub(crate) struct ShowHelp;

impl Action for ShowHelp {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        navigation::open_page(state, PageKind::Help, None);
        Vec::new()
    }
}

/// Shows all notifications.
#[derive(Debug)]
pub(crate) struct ShowNotifications;

impl Action for ShowNotifications {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        navigation::open_page(state, PageKind::Notifications, None);
        Vec::new()
    }

    fn expires_notifications(&self) -> bool {
        false
    }
}
