//! `--config`: Kueue's own configuration file.

use std::path::Path;

use super::CliError;
use kueue_lab_api::config::{LoadedConfiguration, load};

/// Most bytes of a configuration.
const MAX_FILE: u64 = 1 << 20;

/// Reads a configuration; warnings are logged.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub(super) fn read_config(path: &Path) -> Result<LoadedConfiguration, CliError> {
    let shown = path.display();
    let unreadable = |e: &dyn std::fmt::Display| {
        CliError::Usage(format!("cannot read the configuration {shown}: {e}"))
    };
    let size = std::fs::metadata(path).map_err(|e| unreadable(&e))?.len();
    if size > MAX_FILE {
        return Err(unreadable(&format!("it is larger than {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(&e))?;
    let place = |p: &kueue_lab_api::load::Problem| {
        let field = match p.path.as_str() {
            "" => String::new(),
            path => format!("{path}: "),
        };
        let remedy = p
            .remedy
            .as_ref()
            .map_or(String::new(), |r| format!("; {r}"));
        format!(
            "{shown}:{}:{}: {field}{}{remedy}",
            p.at.line, p.at.column, p.message
        )
    };
    let loaded = load(&text).map_err(|problems| {
        let all: Vec<_> = problems.iter().map(place).collect();
        CliError::Usage(all.join("\n"))
    })?;
    for warning in &loaded.warnings {
        tracing::warn!("{}", place(warning));
    }
    Ok(loaded)
}
