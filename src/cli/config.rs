//! `--config`: Kueue's own configuration file.

use std::path::Path;

use super::CliError;
use kueue_lab_api::config::{LoadedConfiguration, load};

/// Maximum size of a configuration file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Reads a configuration; warnings are logged.
///
/// # Errors
/// Every problem with file, line and column, and the source line.
pub(super) fn read_config(path: &Path) -> Result<LoadedConfiguration, CliError> {
    let file = path.display();
    let unreadable = |e: &dyn std::fmt::Display| {
        CliError::Usage(format!("cannot read the configuration {file}: {e}"))
    };
    let size = std::fs::metadata(path).map_err(|e| unreadable(&e))?.len();
    if size > MAX_FILE {
        return Err(unreadable(&format!("it is larger than {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(&e))?;
    let problem_text = |p: &kueue_lab_api::load::Problem| {
        let field = match p.path.as_str() {
            "" => String::new(),
            path => format!("{path}: "),
        };
        let remedy = p
            .remedy
            .as_ref()
            .map_or(String::new(), |r| format!("; {r}"));
        format!(
            "{file}:{}:{}: {field}{}{remedy}",
            p.at.line, p.at.column, p.message
        )
    };
    let loaded = load(&text).map_err(|problems| {
        let all: Vec<String> = problems
            .iter()
            .flat_map(|p| [problem_text(p), p.source_snippet(&text)])
            .filter(|lines| !lines.is_empty())
            .collect();
        CliError::Usage(all.join("\n"))
    })?;
    for warning in &loaded.warnings {
        tracing::warn!("{}", problem_text(warning));
    }
    Ok(loaded)
}
