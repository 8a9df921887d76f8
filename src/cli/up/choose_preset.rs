//! The preset that `up` applies at the start.

use std::path::Path;

use kueue_lab_lab::DEFAULT_PRESET;
use kueue_lab_presets as presets;

use crate::cli::CommandError;

/// The value of `--preset` that applies no preset.
const NO_PRESET: &str = "none";

/// The preset of `--preset`; without it the only preset of the folder, or the default one.
///
/// # Errors
/// The folder cannot be read, or it has several presets and the default one is not among them.
pub(super) fn choose_preset(
    argument: Option<String>,
    folder: &Path,
) -> Result<Option<String>, CommandError> {
    if let Some(name) = argument {
        return Ok(Some(name).filter(|name| name != NO_PRESET));
    }
    let mut names = presets::list(folder).map_err(|e| CommandError::usage(e.to_string()))?;
    if names.iter().any(|name| name == DEFAULT_PRESET) {
        return Ok(Some(DEFAULT_PRESET.into()));
    }
    match names.len() {
        1 => Ok(names.pop()),
        0 => Err(CommandError::usage(format!(
            "there is no preset in {}; --preset none starts without one",
            folder.display()
        ))),
        _ => Err(CommandError::usage(format!(
            "choose one of the presets in {} with --preset: {}, or none",
            folder.display(),
            names.join(", ")
        ))),
    }
}
