//! `--config`: Kueue's own configuration file.

use std::path::Path;

use super::CliError;
use kueue_lab_api::config::{LoadedConfiguration, NoEffectIn, load};

/// Maximum size of a configuration file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// What a configuration is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConfigUser {
    /// A lab on the embedded cluster.
    EmbeddedLab,
    /// A lab on another cluster.
    RemoteLab,
    /// The controller alone.
    Controller,
    /// An explanation, which names no settings without effect.
    Explanation,
}

impl ConfigUser {
    /// Whether settings of a row have no effect.
    fn ignores(self, no_effect_in: NoEffectIn) -> bool {
        match self {
            Self::EmbeddedLab => true,
            Self::RemoteLab => no_effect_in != NoEffectIn::EmbeddedCluster,
            Self::Controller => no_effect_in == NoEffectIn::Everywhere,
            Self::Explanation => false,
        }
    }
}

/// A configuration file.
pub(super) struct ConfigFile {
    /// The configuration.
    pub loaded: LoadedConfiguration,
    /// The warnings, which are logged already: converted settings, and settings without effect.
    pub warnings: Vec<String>,
}

/// Reads a configuration; warnings are logged.
///
/// # Errors
/// Every problem with file, line and column, and the source line.
pub(super) fn read_config(path: &Path, user: ConfigUser) -> Result<ConfigFile, CliError> {
    let file = path.display();
    let unreadable = |e: &dyn std::fmt::Display| {
        CliError::Usage(format!("cannot read the configuration {file}: {e}"))
    };
    let size = std::fs::metadata(path).map_err(|e| unreadable(&e))?.len();
    if size > MAX_FILE {
        return Err(unreadable(&format!("it is larger than {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(&e))?;
    let problem_text = |p: &kueue_lab_api::load::Problem| -> String {
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
    let ignored = loaded.ignored.iter();
    let ignored = ignored
        .filter(|setting| user.ignores(setting.no_effect_in))
        .map(|setting| &setting.problem);
    let warnings: Vec<String> = loaded
        .warnings
        .iter()
        .chain(ignored)
        .map(problem_text)
        .collect();
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    Ok(ConfigFile { loaded, warnings })
}
