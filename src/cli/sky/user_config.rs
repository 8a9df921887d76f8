//! `~/.sky/config.yaml`

use kueue_lab_lab::sky_config_file;
use kueue_lab_skypilot::SkyConfig;

use crate::cli::CommandError;

/// The user's configuration, checked; `None` without a file.
pub(super) fn user_config() -> Result<Option<String>, CommandError> {
    let Some(file) = sky_config_file().filter(|file| file.exists()) else {
        return Ok(None);
    };
    let shown = file.display();
    let text = kueue_lab_host::read_to_string(&file, kueue_lab_host::FILE_LIMIT)
        .map_err(|error| CommandError::usage(error).with_message(shown.to_string()))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    SkyConfig::parse(&text).map_err(|problem| CommandError::usage(format!("{shown}:{problem}")))?;
    Ok(Some(text))
}
