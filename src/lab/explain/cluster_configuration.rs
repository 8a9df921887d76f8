//! The configuration of a cluster's Kueue, in its ConfigMap.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kueue_lab_api::config::{CONFIG_MAP_KEY, DEFAULT_NAMESPACE, LoadedConfiguration, load};
use kueue_lab_cluster::request_error_message;
use kueue_lab_controller::{ControllerConfig, Settings};
use kueue_lab_controller_runtime::Api;

/// The ConfigMap of Kueue's manifests.
const CONFIG_MAP: &str = "kueue-manager-config";

/// The error of the search for the configuration of a cluster.
#[derive(Debug, thiserror::Error)]
pub enum NoConfiguration {
    /// The request for the ConfigMap failed.
    #[error("cannot read ConfigMap {DEFAULT_NAMESPACE}/{CONFIG_MAP}: {}", request_error_message(.0))]
    Unreadable(kube::Error),
    /// The content cannot be loaded, because of this problem.
    #[error("cannot load ConfigMap {DEFAULT_NAMESPACE}/{CONFIG_MAP}: {0}")]
    Invalid(String),
}

impl NoConfiguration {
    /// The error as a note of a command that continues without the configuration.
    pub fn note(&self) -> String {
        format!("{self}; Kueue's default configuration is assumed")
    }
}

/// The configuration of a cluster's Kueue; `None` if the cluster has no ConfigMap of Kueue.
///
/// # Errors
/// The ConfigMap cannot be read, or its content cannot be loaded.
pub async fn configuration_of_cluster(
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

/// The configuration of a cluster's Kueue; `None` for Kueue's default configuration, if the cluster has no
/// ConfigMap of Kueue or it cannot be used. `note` is called with the reason for the latter.
pub(crate) async fn configuration_or_default(
    client: &Client,
    note: impl FnOnce(&str),
) -> Option<LoadedConfiguration> {
    let found = configuration_of_cluster(client).await;
    found.unwrap_or_else(|error| {
        note(&error.note());
        None
    })
}

/// The settings of a controller with a configuration, or with the default one.
pub fn settings(kueue: Option<&LoadedConfiguration>) -> Settings {
    Settings::new(
        kueue
            .cloned()
            .map_or_else(ControllerConfig::default, ControllerConfig::from),
    )
}
