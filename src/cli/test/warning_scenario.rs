//! The scenarios of the warnings: a configuration and a test file that shows its effect.

use std::fmt::Write;

use kueue_lab_lab::WARNING_SCENARIOS;
use kueue_lab_presets::LINT_NAMES;
use kueue_lab_yaml::closest;

use crate::cli::CommandError;

/// The files of the scenario of a warning, each after a line with its name.
///
/// # Errors
/// No warning has this name.
pub(super) fn warning_scenario(name: &str) -> Result<String, CommandError> {
    let folder = format!("{name}/");
    let files = WARNING_SCENARIOS
        .iter()
        .filter_map(|file| Some((file.path.strip_prefix(&folder)?, file.text)));
    let mut text = String::new();
    for (path, content) in files {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# --- {path}\n{content}");
    }
    if !text.is_empty() {
        return Ok(text);
    }
    let remedy = match closest(name, LINT_NAMES) {
        Some(guess) => format!("did you mean {guess}?"),
        None => format!("the warnings are {}", LINT_NAMES.join(", ")),
    };
    Err(CommandError::usage(format!(
        "there is no warning {name:?}; {remedy}"
    )))
}
