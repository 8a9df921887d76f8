//! [`HostConfiguration`]: the parts of Kueue's Configuration that act on the machine of the manager.

use std::sync::Arc;

use kueue_lab_api::config::{ClusterProfileAccessProvider, Configuration, Feature, FeatureGates};
use parking_lot::RwLock;

/// The programs and files of the machine of the manager that its configuration allows: exec plugins of
/// ClusterProfiles, and kubeconfigs of MultiKueueClusters by path.
///
/// Upstream's manager runs in a container, where they are those of its image. The manager of an embedded cluster
/// runs on the machine of its user, and its configuration is an object that others may write: only a
/// configuration that the user gives, with a flag or a file, allows them. Clones share it.
#[derive(Clone, Debug)]
pub struct HostConfiguration(Option<Arc<RwLock<Allowed>>>);

#[derive(Debug, Default)]
struct Allowed {
    providers: Vec<ClusterProfileAccessProvider>,
    paths: KubeConfigPaths,
}

/// The kubeconfigs that MultiKueueClusters may name by path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KubeConfigPaths {
    /// None.
    #[default]
    None,
    /// Those below upstream's directory.
    Validated,
    /// All: the feature gate MultiKueueKubeConfigPathValidation is off.
    All,
}

impl HostConfiguration {
    /// For a manager whose whole configuration is of its user: what it says is allowed.
    pub fn of_manager() -> Self {
        Self(None)
    }

    /// For the manager of an embedded cluster: nothing is allowed yet.
    pub fn of_embedded_cluster() -> Self {
        Self(Some(Arc::default()))
    }

    /// Allows what a configuration of the user says, in place of an earlier one; nothing without one.
    pub fn set(&self, given: Option<(&Configuration, &FeatureGates)>) {
        let Some(allowed) = &self.0 else {
            return;
        };
        *allowed.write() = given.map_or_else(Allowed::default, |(configuration, gates)| Allowed {
            providers: providers(configuration).cloned().collect(),
            paths: paths(configuration, gates),
        });
    }

    /// One line for each part of a running configuration that has no effect, as it is not allowed.
    pub fn warnings(&self, configuration: &Configuration, gates: &FeatureGates) -> Vec<String> {
        let refused = providers(configuration).filter(|provider| !self.allows(provider));
        let mut warnings: Vec<String> = refused
            .map(|provider| {
                format!(
                    "multiKueue.clusterProfile: the exec plugin of access provider {:?} is not run: it is not in the file of --config or kueue.yaml of the preset",
                    provider.name
                )
            })
            .collect();
        let is_validated = gates.enabled(Feature::MultiKueueKubeConfigPathValidation);
        if !is_validated && self.kube_config_paths(gates) != KubeConfigPaths::All {
            warnings.push(
                "featureGates.MultiKueueKubeConfigPathValidation: false has no effect: it is not in the file of --config or kueue.yaml of the preset"
                    .to_owned(),
            );
        }
        warnings
    }

    /// Whether an exec plugin of ClusterProfiles may run.
    pub(crate) fn allows(&self, provider: &ClusterProfileAccessProvider) -> bool {
        let Some(allowed) = &self.0 else {
            return true;
        };
        allowed.read().providers.contains(provider)
    }

    /// The kubeconfigs that may be named by path, with the gates of the running configuration.
    pub(crate) fn kube_config_paths(&self, gates: &FeatureGates) -> KubeConfigPaths {
        let is_validated = gates.enabled(Feature::MultiKueueKubeConfigPathValidation);
        let allowed = self.0.as_ref().map(|allowed| allowed.read().paths);
        match (is_validated, allowed) {
            (_, Some(KubeConfigPaths::None)) => KubeConfigPaths::None,
            (false, None | Some(KubeConfigPaths::All)) => KubeConfigPaths::All,
            _ => KubeConfigPaths::Validated,
        }
    }
}

fn providers(configuration: &Configuration) -> impl Iterator<Item = &ClusterProfileAccessProvider> {
    let multi_kueue = configuration.multi_kueue.as_ref();
    let profiles = multi_kueue.and_then(|multi_kueue| multi_kueue.cluster_profile.as_ref());
    profiles.into_iter().flat_map(|profiles| {
        let older = profiles.credentials_providers.iter();
        profiles.access_providers.iter().chain(older)
    })
}

/// A configuration allows paths if it names the feature gate.
fn paths(configuration: &Configuration, gates: &FeatureGates) -> KubeConfigPaths {
    let gate = Feature::MultiKueueKubeConfigPathValidation;
    if !gates.enabled(gate) {
        return KubeConfigPaths::All;
    }
    match configuration.feature_gates.contains_key(gate.name()) {
        true => KubeConfigPaths::Validated,
        false => KubeConfigPaths::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_api::config::{LoadedConfiguration, load};

    fn configuration(fields: &str) -> LoadedConfiguration {
        let head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
        load(&format!("{head}{fields}")).unwrap()
    }

    #[test]
    fn only_a_configuration_of_the_user_allows_programs_and_files() {
        let program = configuration(
            "featureGates: {MultiKueueKubeConfigPathValidation: false}
multiKueue:
  clusterProfile:
    accessProviders:
    - name: p
      execConfig: {apiVersion: client.authentication.k8s.io/v1, command: touch, interactiveMode: Never}
",
        );
        let provider = providers(&program.configuration).next().unwrap();
        let host = HostConfiguration::of_embedded_cluster();
        assert!(!host.allows(provider));
        assert_eq!(
            host.kube_config_paths(&program.gates),
            KubeConfigPaths::None
        );
        assert_eq!(
            host.warnings(&program.configuration, &program.gates).len(),
            2
        );
        host.set(Some((&program.configuration, &program.gates)));
        assert!(host.allows(provider));
        assert_eq!(host.kube_config_paths(&program.gates), KubeConfigPaths::All);
        let mut other = provider.clone();
        other.exec_config.args.push("x".to_owned());
        assert!(!host.allows(&other));
        let validated = configuration("featureGates: {MultiKueueKubeConfigPathValidation: true}");
        host.set(Some((&validated.configuration, &validated.gates)));
        // The object cannot take the validation away.
        assert_eq!(
            host.kube_config_paths(&program.gates),
            KubeConfigPaths::Validated
        );
        host.set(None);
        assert_eq!(
            host.kube_config_paths(&validated.gates),
            KubeConfigPaths::None
        );
        let manager = HostConfiguration::of_manager();
        assert!(manager.allows(provider));
        assert_eq!(
            manager.kube_config_paths(&program.gates),
            KubeConfigPaths::All
        );
    }
}
