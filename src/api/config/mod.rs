//! Kueue's own configuration: the file `Configuration` of `config.kueue.x-k8s.io`, in v1beta2 or
//! v1beta1, bare or in a ConfigMap; its defaults and rules; and feature gates.
//!
//! Must not know how the configuration is used.

mod configuration;
mod defaults;
mod duration;
mod features;
mod frameworks;
mod jobs;
mod multi_kueue;
mod read;
mod sharing;
mod v1beta1;
mod validate;

pub use configuration::*;
pub use defaults::apply as apply_defaults;
pub use duration::{Duration, NotADuration};
pub use features::{Feature, FeatureGateError, FeatureGates, Stage};
pub use frameworks::{FRAMEWORKS, Framework, RELEASED};
pub use jobs::*;
pub use multi_kueue::*;
pub use read::{CONFIG_MAP_KEY, Loaded, load, resolve_gates};
pub use sharing::*;
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

    /// The configuration as upstream's released manifest has it: [`RELEASED`] frameworks are on.
    pub fn released() -> Self {
        let frameworks = RELEASED.iter().map(|f| (*f).to_owned()).collect();
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
