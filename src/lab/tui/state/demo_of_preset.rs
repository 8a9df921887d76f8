//! The demos of the active preset.

use super::State;
use crate::backend::Demo;

/// The demo that runs without a menu: the only one of the active preset, or of the lab.
pub(crate) fn only_demo(state: &State) -> Option<&Demo> {
    let demos = &state.env.demos;
    let mut of_preset = demos.iter().filter(|demo| is_of_active(state, demo));
    match (of_preset.next(), of_preset.next()) {
        (None, _) => demos.first().filter(|_| demos.len() == 1),
        (only, None) => only,
        (_, Some(_)) => None,
    }
}

/// Whether a demo is one of the active preset.
pub(crate) fn is_of_active(state: &State, demo: &Demo) -> bool {
    let active = state.applied_preset();
    active.is_some_and(|active| demo.preset.as_ref() == Some(&active.name))
}
