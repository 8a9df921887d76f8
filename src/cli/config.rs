//! Kueue's own configuration: the file of `--config`, or the ConfigMap of a cluster.

use std::path::Path;

use kube::Client;
use kueue_lab_api::config::{LoadedConfiguration, NoEffectIn, load};
use kueue_lab_explain::{NoConfiguration, configuration_of_cluster};

use super::CommandError;
use super::kubeconfig_args::request_error;

/// Maximum size of a configuration file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The purpose of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConfigPurpose {
    /// A lab on the embedded cluster.
    EmbeddedLab,
    /// A lab on another cluster.
    RemoteLab,
    /// The controller alone.
    Controller,
    /// An explanation, which names no settings without effect.
    Explanation,
}

impl ConfigPurpose {
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
pub(super) fn read_config(path: &Path, purpose: ConfigPurpose) -> Result<ConfigFile, CommandError> {
    let file = path.display();
    let unreadable = |e: &dyn std::fmt::Display| {
        CommandError::usage(format!("cannot read the configuration {file}: {e}"))
    };
    let text = kueue_lab_host::read_argument_to_string(path, MAX_FILE);
    let text = text.map_err(|e| unreadable(&e))?;
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
        CommandError::usage(all.join("\n"))
    })?;
    let ignored = loaded.ignored.iter();
    let ignored = ignored
        .filter(|setting| purpose.ignores(setting.no_effect_in))
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

/// The configuration of a cluster's Kueue; `None` for Kueue's default configuration, if the cluster has no
/// ConfigMap of Kueue or it cannot be used. The reason for the latter is a note on stderr.
///
/// # Errors
/// The cluster cannot be reached, or does not know the user, so that other requests fail as well.
pub(super) async fn configuration_or_note(
    client: &Client,
) -> Result<Option<LoadedConfiguration>, CommandError> {
    match configuration_of_cluster(client).await {
        Ok(found) => Ok(found),
        Err(NoConfiguration::Unreadable(error)) if !is_about_config_map(&error) => {
            Err(request_error(&error))
        }
        Err(error) => {
            eprintln!("note: {}", error.note());
            Ok(None)
        }
    }
}

/// Whether the failure of a request concerns only the ConfigMap: the cluster answers and knows the user.
fn is_about_config_map(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code != 401)
}
