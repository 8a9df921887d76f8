//! `~/.sky/config.yaml`

use kueue_lab_lab::sky_config_file;
use kueue_lab_skypilot::SkyConfig;

use crate::cli::CliError;

/// The user's configuration, checked; `None` without a file.
pub(super) fn user_config() -> Result<Option<String>, CliError> {
    let Some(file) = sky_config_file().filter(|file| file.exists()) else {
        return Ok(None);
    };
    let shown = file.display();
    let text = kueue_lab_host::read_to_string(&file, kueue_lab_host::FILE_LIMIT)
        .map_err(|error| CliError::Usage(format!("{shown}: {error}")))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    SkyConfig::parse(&text).map_err(|problem| CliError::Usage(format!("{shown}:{problem}")))?;
    Ok(Some(text))
}
