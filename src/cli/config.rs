//! Kueue's own configuration: the file of `--config`, or the ConfigMap of a cluster.

use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kueue_lab_api::config::{
    CONFIG_MAP_KEY, DEFAULT_NAMESPACE, LoadedConfiguration, NoEffectIn, load,
};
use kueue_lab_controller::{ControllerConfig, Settings};
use kueue_lab_controller_runtime::Api;

use super::CliError;
use super::kubeconfig_args::request_error;
use kueue_lab_lab::request_error_message;

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

/// The ConfigMap of Kueue's manifests.
const CONFIG_MAP: &str = "kueue-manager-config";

/// Reads a configuration; warnings are logged.
///
/// # Errors
/// Every problem with file, line and column, and the source line.
pub(super) fn read_config(path: &Path, purpose: ConfigPurpose) -> Result<ConfigFile, CliError> {
    let file = path.display();
    let unreadable = |e: &dyn std::fmt::Display| {
        CliError::Usage(format!("cannot read the configuration {file}: {e}"))
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
        CliError::Usage(all.join("\n"))
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
/// ConfigMap of Kueue or it cannot be used. `note` is called with the reason for the latter.
pub(super) async fn configuration_or_default(
    client: &Client,
    note: impl FnOnce(&str),
) -> Option<LoadedConfiguration> {
    let found = configuration_of_cluster(client).await;
    found.unwrap_or_else(|error| {
        note(&error.note());
        None
    })
}

/// As [`configuration_or_default`], with the note on stderr.
///
/// # Errors
/// The cluster cannot be reached, or does not know the user, so that other requests fail as well.
pub(super) async fn configuration_or_note(
    client: &Client,
) -> Result<Option<LoadedConfiguration>, CliError> {
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

/// The settings of a controller with a configuration, or with the default one.
pub(super) fn settings(kueue: Option<&LoadedConfiguration>) -> Settings {
    Settings::new(
        kueue
            .cloned()
            .map_or_else(ControllerConfig::default, ControllerConfig::from),
    )
}

/// The error of the search for the configuration of a cluster.
enum NoConfiguration {
    /// The request for the ConfigMap failed.
    Unreadable(kube::Error),
    /// The content cannot be loaded.
    Invalid(String),
}

impl NoConfiguration {
    /// The text of a note.
    fn note(&self) -> String {
        let name = format!("ConfigMap {DEFAULT_NAMESPACE}/{CONFIG_MAP}");
        let why = match self {
            Self::Unreadable(error) => {
                format!("cannot read {name}: {}", request_error_message(error))
            }
            Self::Invalid(problem) => format!("cannot load {name}: {problem}"),
        };
        format!("{why}; Kueue's default configuration is assumed")
    }
}

/// The configuration of a cluster's Kueue; `None` if the cluster has no ConfigMap of Kueue.
///
/// # Errors
/// The ConfigMap cannot be read, or its content cannot be loaded.
async fn configuration_of_cluster(
    client: &Client,
) -> Result<Option<LoadedConfiguration>, NoConfiguration> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), DEFAULT_NAMESPACE);
    let found = api.get_opt(CONFIG_MAP).await;
    let found = found.map_err(NoConfiguration::Unreadable)?;
    let text = found.and_then(|found| found.data?.remove(CONFIG_MAP_KEY));
    let Some(text) = text else {
        return Ok(None);
    };
    load(&text).map(Some).map_err(|problems| {
        let problem = problems.first().map(ToString::to_string);
        NoConfiguration::Invalid(problem.unwrap_or_default())
    })
}
