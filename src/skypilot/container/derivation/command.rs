//! The steps of the command of a container.

use std::collections::BTreeMap;

use kueue_lab_container_program::Step;

use super::ScriptLimits;
use super::executor::execute;
use crate::known_command::{is_known, runs_forever};

/// Environment variables.
pub type Environment = BTreeMap<String, String>;

/// The steps of a command in an image that is not one of BusyBox; `None` if they cannot be derived.
pub fn steps(words: &[&str], environment: &Environment) -> Option<Vec<Step>> {
    steps_within(words, environment, false, ScriptLimits::default())
}

/// As [`steps`], in an image of BusyBox or another one, with other limits than those of a single script.
pub fn steps_within(
    words: &[&str],
    environment: &Environment,
    is_busybox: bool,
    limits: ScriptLimits,
) -> Option<Vec<Step>> {
    if !is_known(words) {
        return None;
    }
    if runs_forever(words) {
        return Some(vec![Step::Hang]);
    }
    Some(execute(words, environment, is_busybox, limits))
}
