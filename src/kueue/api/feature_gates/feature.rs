//! The properties of a feature gate.

use std::fmt;

use super::kube_features::{FEATURE_SPECS, Feature, FeatureSpec};

/// The stage of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeatureStage {
    /// Alpha: disabled by default.
    Alpha,
    /// Beta: usually enabled by default.
    Beta,
    /// GA: the gate is locked.
    GenerallyAvailable,
    /// Deprecated.
    Deprecated,
}

impl fmt::Display for FeatureStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::GenerallyAvailable => "GA",
            Self::Deprecated => "DEPRECATED",
        })
    }
}

impl Feature {
    /// Every gate, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        FEATURE_SPECS.iter().map(|row| row.feature)
    }

    /// The gate with a name.
    pub fn named(name: &str) -> Option<Self> {
        FEATURE_SPECS
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.feature)
    }

    fn spec(self) -> &'static FeatureSpec {
        &FEATURE_SPECS[self as usize]
    }

    /// Upstream's name.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether the gate is enabled by default.
    pub fn default(self) -> bool {
        self.spec().default
    }

    /// The stage.
    pub fn stage(self) -> FeatureStage {
        self.spec().stage
    }

    /// The release of the current default and stage.
    pub fn since(self) -> &'static str {
        self.spec().since
    }

    /// Gates that must be enabled for this one.
    pub(crate) fn depends_on(self) -> &'static [Self] {
        self.spec().depends_on
    }

    /// Whether the gate is locked to its default.
    pub fn is_locked(self) -> bool {
        self.stage() == FeatureStage::GenerallyAvailable
    }

    pub(super) fn bit(self) -> u128 {
        1 << (self as u32)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
