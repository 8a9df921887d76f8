//! Kueue's own configuration: the file `Configuration` of `config.kueue.x-k8s.io`, in v1beta2 or
//! v1beta1, bare or in a ConfigMap; its defaults and rules; and feature gates.
//!
//! Must not know how the configuration is used.

mod configuration;
mod defaults;
mod fair_sharing;
mod feature_gates;
mod integration_frameworks;
mod integrations;
mod load;
mod multi_kueue;
mod v1beta1;
mod validate;

pub use configuration::*;
pub use defaults::apply as apply_defaults;
pub use fair_sharing::*;
pub use feature_gates::{Feature, FeatureGateError, FeatureGates, FeatureStage};
pub use integration_frameworks::{FRAMEWORKS, Framework, RELEASE_MANIFEST_FRAMEWORKS};
pub use integrations::*;
pub use kueue_lab_duration::{Duration, ParseDurationError};
pub use load::{CONFIG_MAP_KEY, LoadedConfiguration, load, resolve_gates};
pub use multi_kueue::*;
pub use validate::validate;

use super::wire::nullable;

/// The API group of the configuration.
pub const GROUP: &str = "config.kueue.x-k8s.io";
/// The namespace Kueue runs in where nothing is said.
pub const DEFAULT_NAMESPACE: &str = "kueue-system";

impl Configuration {
    /// The configuration of a Kueue that is given no file.
    pub fn defaulted() -> Self {
        let mut configuration = Self::default();
        defaults::apply(&mut configuration);
        configuration
    }

    /// The configuration as upstream's released manifest has it: [`RELEASE_MANIFEST_FRAMEWORKS`] frameworks are on.
    pub fn release_manifest() -> Self {
        let frameworks = RELEASE_MANIFEST_FRAMEWORKS
            .iter()
            .map(|f| (*f).to_owned())
            .collect();
        let integrations = Integrations {
            frameworks,
            ..Integrations::default()
        };
        let mut configuration = Self {
            integrations: Some(integrations),
            ..Self::default()
        };
        defaults::apply(&mut configuration);
        configuration
    }
}

#[cfg(test)]
mod tests;
