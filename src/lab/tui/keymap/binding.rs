//! A line of the key map.

use crate::actions::Action;
use crate::input::InputKey;

/// A line of the key map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    /// The keys, the primary one first.
    pub(crate) keys: &'static [&'static str],
    /// What they do.
    pub(crate) target: Target,
    /// The text in the help.
    pub(crate) help: &'static str,
    /// Rank and label in the footer; lower ranks are shown first.
    pub(crate) hint: Option<(u8, &'static str)>,
}

/// What a key does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Runs an action.
    Action(&'static dyn Action),
    /// Is input of the open dialog or prompt.
    Input(InputKey),
}

impl Binding {
    /// Adds rank and label for the footer.
    pub(crate) const fn hint(self, rank: u8, label: &'static str) -> Self {
        Self {
            hint: Some((rank, label)),
            ..self
        }
    }
}

/// Keys that run an action.
pub(crate) const fn key(
    keys: &'static [&'static str],
    action: &'static dyn Action,
    help: &'static str,
) -> Binding {
    Binding {
        keys,
        target: Target::Action(action),
        help,
        hint: None,
    }
}

/// Keys that are input of a dialog or prompt.
pub(crate) const fn input(
    keys: &'static [&'static str],
    input: InputKey,
    help: &'static str,
) -> Binding {
    Binding {
        keys,
        target: Target::Input(input),
        help,
        hint: None,
    }
}
