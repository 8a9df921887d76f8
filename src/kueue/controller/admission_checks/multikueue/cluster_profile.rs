//! The kubeconfig of a worker cluster that a ClusterProfile names: the address of an access
//! provider, and its exec plugin of the configuration.

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kueue_lab_controller_runtime::{Api, Informer};
use serde_json::{Map, Value, json};

use super::context::MultiKueueContext;
use crate::host_configuration::HostConfiguration;
use crate::object_meta;
use kueue_lab_api::config::{ClusterProfile, ClusterProfileAccessProvider, Feature};

/// ClusterProfiles.
fn resource() -> ApiResource {
    let gvk = GroupVersionKind::gvk("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile");
    ApiResource::from_gvk_with_plural(&gvk, "clusterprofiles")
}

fn cluster_profiles(mk: &MultiKueueContext) -> Api<DynamicObject> {
    let client = mk.shared.ctx.client.clone();
    Api::namespaced_with(client, mk.config_namespace(), &resource())
}

/// Enqueues the clusters of a ClusterProfile of Kueue's namespace when it changes.
pub(super) fn watch(mk: &MultiKueueContext) {
    let gate = Feature::MultiKueueClusterProfile;
    if !mk.shared.settings.enabled(gate) {
        return;
    }
    let profiles = Informer::builder(cluster_profiles(mk)).start(&mk.shared.ctx);
    let handled = mk.clone();
    profiles.add_event_handler(move |change| {
        let name = object_meta::name(&change.object().metadata);
        for cluster in handled.clusters_using_profile(name) {
            handled.cluster_events.add(cluster);
        }
    });
}

/// Reads a ClusterProfile of Kueue's namespace; None if it does not exist.
///
/// # Errors
/// The request fails.
pub(super) async fn find(
    mk: &MultiKueueContext,
    name: &str,
) -> kube::Result<Option<DynamicObject>> {
    cluster_profiles(mk).get_opt(name).await
}

/// Why a ClusterProfile has no kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AccessProviderError {
    /// The configuration has no access provider.
    #[error("no access provider configured")]
    NoneConfigured,
    /// The profile has none of those of the configuration; its name.
    #[error("no matching cluster accessor found for cluster profile {0:?}")]
    NoneMatches(String),
    /// The plugin of the provider with this name is not allowed to run.
    #[error(
        "the exec plugin of access provider {0:?} is not run: on an embedded cluster programs of this machine need the same provider in the file of --config or in kueue.yaml of the preset"
    )]
    PluginNotAllowed(String),
}

/// The kubeconfig of a ClusterProfile, with the first provider of the configuration that the
/// profile has.
///
/// # Errors
/// There is no provider, none of those of the profile, or its plugin is not allowed to run.
pub(super) fn kubeconfig(
    profile: &DynamicObject,
    settings: Option<&ClusterProfile>,
    host: &HostConfiguration,
) -> Result<Value, AccessProviderError> {
    let providers = settings.map(|settings| match &*settings.access_providers {
        [] => &settings.credentials_providers,
        _ => &settings.access_providers,
    });
    let providers = providers.filter(|providers| !providers.is_empty());
    let providers = providers.ok_or(AccessProviderError::NoneConfigured)?;
    let name = object_meta::name(&profile.metadata);
    let found = providers.iter().find_map(|provider| {
        let cluster = access_provider(profile, &provider.name)?;
        Some((provider, cluster))
    });
    let (provider, cluster) =
        found.ok_or_else(|| AccessProviderError::NoneMatches(name.to_owned()))?;
    match host.allows(provider) {
        true => Ok(kubeconfig_of(name, cluster, provider)),
        false => Err(AccessProviderError::PluginNotAllowed(provider.name.clone())),
    }
}

/// The cluster of an access provider in the status of a profile. `credentialProviders` is the name
/// of `accessProviders` in older versions.
fn access_provider<'a>(profile: &'a DynamicObject, name: &str) -> Option<&'a Value> {
    let status = profile.data.get("status")?;
    ["accessProviders", "credentialProviders"]
        .iter()
        .find_map(|field| {
            let mut providers = status.get(field)?.as_array()?.iter();
            let provider = providers.find(|provider| provider["name"] == name)?;
            provider.get("cluster")
        })
}

fn kubeconfig_of(name: &str, cluster: &Value, provider: &ClusterProfileAccessProvider) -> Value {
    // The other fields, as those with files of the manager, have no effect.
    let used = [
        "server",
        "certificate-authority-data",
        "proxy-url",
        "extensions",
    ];
    let fields = used.iter().filter_map(|field| {
        let value = cluster.get(field)?;
        Some(((*field).to_owned(), value.clone()))
    });
    let cluster: Map<String, Value> = fields.collect();
    let exec = &provider.exec_config;
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": provider.name}}],
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": provider.name, "user": {"exec": {
            "apiVersion": exec.api_version,
            "command": exec.command,
            "args": exec.args,
            "env": exec.env,
            "interactiveMode": "Never",
            "provideClusterInfo": exec.provide_cluster_info,
        }}}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_api::config::ExecConfig;

    fn provider(name: &str) -> ClusterProfileAccessProvider {
        ClusterProfileAccessProvider {
            name: name.to_owned(),
            exec_config: ExecConfig {
                command: format!("{name}-plugin"),
                api_version: "client.authentication.k8s.io/v1".to_owned(),
                ..ExecConfig::default()
            },
        }
    }

    fn profile(status: Value) -> DynamicObject {
        let object = json!({"metadata": {"name": "p"}, "status": status});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn the_first_configured_provider_of_the_profile_is_used() {
        let host = HostConfiguration::of_manager();
        let settings = ClusterProfile {
            access_providers: vec![provider("other"), provider("secret"), provider("token")],
            ..ClusterProfile::default()
        };
        let found = profile(json!({
            "accessProviders": [{"name": "token", "cluster": {"server": "https://token"}}],
            "credentialProviders": [{"name": "secret", "cluster": {
                "server": "https://secret", "certificate-authority": "/ca",
            }}],
        }));
        let config = kubeconfig(&found, Some(&settings), &host).unwrap();
        let cluster = &config["clusters"][0]["cluster"];
        assert_eq!(*cluster, json!({"server": "https://secret"}));
        let exec = &config["users"][0]["user"]["exec"];
        assert_eq!(exec["command"], "secret-plugin");
        let parsed = kube::config::Kubeconfig::from_yaml(&config.to_string()).unwrap();
        assert!(
            parsed.auth_infos[0]
                .auth_info
                .as_ref()
                .unwrap()
                .exec
                .is_some()
        );
    }

    #[test]
    fn a_profile_without_a_known_provider_is_an_error() {
        let host = HostConfiguration::of_manager();
        let found = profile(json!({"accessProviders": [{"name": "a", "cluster": {}}]}));
        let error = kubeconfig(&found, None, &host).unwrap_err();
        assert_eq!(error, AccessProviderError::NoneConfigured);
        let settings = ClusterProfile {
            credentials_providers: vec![provider("b")],
            ..ClusterProfile::default()
        };
        let error = kubeconfig(&found, Some(&settings), &host).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no matching cluster accessor found for cluster profile \"p\""
        );
    }
}
