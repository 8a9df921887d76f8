//! Kueue's configuration: `Configuration` of `config.kueue.x-k8s.io` in v1beta2 or v1beta1, bare or
//! in a ConfigMap; its defaults and validation; feature gates.

mod configuration;
mod defaults;
mod excluded_inputs;
mod fair_sharing;
mod integration_frameworks;
mod integrations;
mod load;
mod multi_kueue;
mod object_retention_policies;
mod resources;
mod to_yaml;
mod v1beta1;
mod validate;
mod wait_for_pods_ready;
mod without_effect;

pub use crate::feature_gates::{Feature, FeatureGateError, FeatureGates, FeatureStage};
pub use configuration::*;
pub use defaults::apply as apply_defaults;
pub use fair_sharing::*;
pub use integration_frameworks::{FRAMEWORKS, Framework};
pub use integrations::*;
pub use kueue_lab_duration::{Duration, ParseDurationError};
pub use load::{CONFIG_MAP_KEY, LoadedConfiguration, load, resolve_gates};
pub use multi_kueue::*;
pub use object_retention_policies::*;
pub use resources::*;
pub use validate::validate;
pub use wait_for_pods_ready::*;
pub use without_effect::{IgnoredSetting, NoEffectIn, Setting, SettingWithoutEffect};

use super::wire::nullable;

/// The API group of the configuration.
pub const GROUP: &str = "config.kueue.x-k8s.io";
/// The default namespace of Kueue.
pub const DEFAULT_NAMESPACE: &str = "kueue-system";

#[cfg(test)]
mod tests;
