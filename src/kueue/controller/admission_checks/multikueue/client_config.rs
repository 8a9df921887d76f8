//! The kubeconfig of a worker cluster: read from its Secret, file or ClusterProfile, and checked.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::config::Kubeconfig;
use kueue_lab_controller_runtime::Api;

use super::cluster_profile;
use super::context::MultiKueueContext;
use super::kubeconfig_path::permitted_file;
use super::validate_kubeconfig::{
    include_client_certificates, remove_host_references, validate_kubeconfig, validate_profile,
};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{KubeConfig, LocationType, MultiKueueCluster};

/// The limit of the size of a kubeconfig file, in bytes: that of a Secret.
const KUBECONFIG_LIMIT: u64 = 1 << 20;

/// A validated kubeconfig.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ClientConfig {
    text: Arc<str>,
    /// Whether the exec plugin is that of the configuration.
    has_plugin: bool,
}

/// The text is not a kubeconfig. The error of the parser quotes the text, which may be that of a Secret or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is not a kubeconfig")]
pub(super) struct ParseKubeconfigError;

impl ClientConfig {
    /// Parses the kubeconfig. It refers to no file: the client library would open it.
    ///
    /// # Errors
    /// It is not YAML of a kubeconfig.
    pub(super) fn kubeconfig(&self) -> Result<Kubeconfig, ParseKubeconfigError> {
        let mut config = parse(&self.text)?;
        remove_host_references(&mut config, self.has_plugin);
        Ok(config)
    }
}

fn parse(text: &str) -> Result<Kubeconfig, ParseKubeconfigError> {
    Kubeconfig::from_yaml(text).map_err(|_| ParseKubeconfigError)
}

/// The error of a kubeconfig that is missing or invalid.
pub(super) struct ConfigError {
    /// The reason of the Active condition.
    pub reason: &'static str,
    /// A message.
    pub message: String,
    /// Whether a referenced object is missing; its creation enqueues the cluster.
    pub not_found: bool,
}

fn bad_kubeconfig(message: String) -> ConfigError {
    ConfigError {
        reason: "BadKubeConfig",
        message,
        not_found: false,
    }
}

/// Reads the kubeconfig of a cluster.
///
/// # Errors
/// It cannot be read, or is not allowed.
pub(super) async fn load_client_config(
    mk: &MultiKueueContext,
    cluster: &MultiKueueCluster,
) -> Result<ClientConfig, ConfigError> {
    let source = &cluster.spec.cluster_source;
    if let Some(profile) = &source.cluster_profile_ref {
        return config_from_profile(mk, &profile.name).await;
    }
    let Some(reference) = &source.kube_config else {
        return Err(bad_kubeconfig("kubeconfig reference is nil".to_owned()));
    };
    let insecure = |message| ConfigError {
        reason: "InsecureKubeConfig",
        message,
        not_found: false,
    };
    let parsed = |text: &str| {
        let invalid =
            |error: ParseKubeconfigError| format!("failed to parse kubeconfig(apiconfig): {error}");
        parse(text).map_err(|error| insecure(invalid(error)))
    };
    let text = match reference.location_type() {
        LocationType::Secret => {
            let text = kubeconfig_from_secret(mk, &reference.location).await?;
            validate_kubeconfig(&parsed(&text)?).map_err(|error| insecure(error.to_string()))?;
            text
        }
        LocationType::Path => {
            let mut config = parsed(&kubeconfig_from_path(mk, reference)?)?;
            include_client_certificates(&mut config)
                .map_err(|error| bad_kubeconfig(error.to_string()))?;
            validate_kubeconfig(&config).map_err(|error| insecure(error.to_string()))?;
            serde_json::to_string(&config).map_err(|error| insecure(error.to_string()))?
        }
    };
    Ok(ClientConfig {
        text: text.into(),
        has_plugin: false,
    })
}

async fn config_from_profile(
    mk: &MultiKueueContext,
    name: &str,
) -> Result<ClientConfig, ConfigError> {
    let failed = |reason, message: String| ConfigError {
        reason,
        message,
        not_found: false,
    };
    let settings = &mk.shared.settings;
    if !settings.enabled(Feature::MultiKueueClusterProfile) {
        let message = "MultiKueueClusterProfile feature gate is disabled";
        return Err(failed(
            "MultiKueueClusterProfileFeatureDisabled",
            message.to_owned(),
        ));
    }
    let bad_profile = |message: String| failed("BadClusterProfile", message);
    let profile = cluster_profile::find(mk, name).await;
    let profile = profile.map_err(|error| bad_profile(error.to_string()))?;
    let profile = profile.ok_or_else(|| ConfigError {
        not_found: true,
        ..bad_profile(format!(
            "ClusterProfile.multicluster.x-k8s.io {name:?} not found"
        ))
    })?;
    let text = cluster_profile::kubeconfig(&profile, mk.cluster_profile(), &settings.host);
    let text = text.map_err(|error| bad_profile(error.to_string()))?;
    let config = ClientConfig {
        text: text.to_string().into(),
        has_plugin: true,
    };
    let parsed = config.kubeconfig();
    let parsed = parsed.map_err(|error| bad_profile(error.to_string()))?;
    validate_profile(&parsed).map_err(|error| failed("BadRestConfig", error.to_string()))?;
    Ok(config)
}

async fn kubeconfig_from_secret(mk: &MultiKueueContext, name: &str) -> Result<String, ConfigError> {
    let client = mk.shared.ctx.client.clone();
    let secrets: Api<Secret> = Api::namespaced(client, mk.config_namespace());
    let secret = secrets.get_opt(name).await;
    let secret = secret.map_err(|error| bad_kubeconfig(error.to_string()))?;
    let secret = secret.ok_or_else(|| ConfigError {
        not_found: true,
        ..bad_kubeconfig(format!("Secret {name:?} not found"))
    })?;
    let key = c::MULTI_KUEUE_CONFIG_SECRET_KEY;
    let data = secret.data.as_ref().and_then(|data| data.get(key));
    let missing = || bad_kubeconfig(format!("key {key:?} not found in secret {name:?}"));
    let bytes = data.ok_or_else(missing)?.0.clone();
    String::from_utf8(bytes).map_err(|error| bad_kubeconfig(error.to_string()))
}

fn kubeconfig_from_path(
    mk: &MultiKueueContext,
    reference: &KubeConfig,
) -> Result<String, ConfigError> {
    let file = permitted_file(&mk.shared.settings, &reference.location);
    let file = file.map_err(|error| bad_kubeconfig(error.to_string()))?;
    kueue_lab_host::read_to_string(&file, KUBECONFIG_LIMIT).map_err(|error| {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
            _ => error.to_string(),
        };
        bad_kubeconfig(format!("open {}: {reason}", file.display()))
    })
}
