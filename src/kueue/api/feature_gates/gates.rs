//! The set of enabled feature gates, and its parsers.

use std::collections::BTreeMap;
use std::fmt;

use super::feature::FeatureStage;
use super::kube_features::Feature;

/// The error of invalid gates, with upstream's messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureGateError {
    /// A name without `=true` or `=false`.
    #[error("missing bool value for {0}")]
    NoValue(String),
    /// A value that is neither true nor false.
    #[error(
        "invalid value of {name}={value}, err: strconv.ParseBool: parsing {value:?}: invalid syntax"
    )]
    BadValue {
        /// Name of the gate.
        name: String,
        /// The value.
        value: String,
    },
    /// No such gate.
    #[error("unrecognized feature gate: {0}")]
    Unknown(String),
    /// A locked gate.
    #[error("cannot set feature gate {feature} to {wanted}, feature is locked to {}", feature.default())]
    Locked {
        /// The gate.
        feature: Feature,
        /// The requested value.
        wanted: bool,
    },
    /// Enabled gates with disabled dependencies.
    #[error("{}", format_unmet_dependencies(.0))]
    Dependencies(Vec<(Feature, Vec<Feature>)>),
}

fn format_unmet_dependencies(unmet: &[(Feature, Vec<Feature>)]) -> String {
    let texts: Vec<String> = unmet
        .iter()
        .map(|(feature, off)| {
            let off: Vec<&str> = off.iter().map(|f| f.name()).collect();
            format!(
                "{feature} is enabled, but depends on features that are disabled: [{}]",
                off.join(" ")
            )
        })
        .collect();
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// The set of enabled gates. Cheap to copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FeatureGates {
    on: u128,
}

impl Default for FeatureGates {
    /// The defaults.
    fn default() -> Self {
        let on = Feature::all()
            .filter(|f| f.default())
            .fold(0, |on, f| on | f.bit());
        Self { on }
    }
}

impl FeatureGates {
    /// Whether a gate is enabled.
    pub fn enabled(&self, feature: Feature) -> bool {
        self.on & feature.bit() != 0
    }

    /// Sets one gate, without a check of dependencies.
    #[must_use]
    pub fn with(self, feature: Feature, on: bool) -> Self {
        let bit = feature.bit();
        Self {
            on: if on { self.on | bit } else { self.on & !bit },
        }
    }

    /// Parses `Name=true,Other=false` over the defaults.
    ///
    /// # Errors
    /// The text is malformed, names an unknown gate, or dependencies are disabled.
    pub fn parse(text: &str) -> Result<Self, FeatureGateError> {
        let mut wanted = BTreeMap::new();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let Some((name, value)) = item.split_once('=') else {
                return Err(FeatureGateError::NoValue(item.trim().to_owned()));
            };
            let (name, value) = (name.trim().to_owned(), value.trim());
            let on = match value {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
                "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
                _ => {
                    return Err(FeatureGateError::BadValue {
                        name,
                        value: value.to_owned(),
                    });
                }
            };
            wanted.insert(name, on);
        }
        Self::from_map(&wanted)
    }

    /// Applies a `featureGates` map over the defaults. `AllAlpha` and `AllBeta` set all gates of a
    /// stage that are not in the map.
    ///
    /// # Errors
    /// A gate is unknown or locked, or dependencies are disabled.
    pub fn from_map(wanted: &BTreeMap<String, bool>) -> Result<Self, FeatureGateError> {
        let mut gates = Self::default();
        for (name, stage) in [
            ("AllAlpha", FeatureStage::Alpha),
            ("AllBeta", FeatureStage::Beta),
        ] {
            if let Some(on) = wanted.get(name) {
                gates = Feature::all()
                    .filter(|f| f.stage() == stage)
                    .fold(gates, |gates, f| gates.with(f, *on));
            }
        }
        for (name, on) in wanted {
            match Feature::named(name) {
                Some(f) if f.is_locked() && *on != f.default() => {
                    return Err(FeatureGateError::Locked {
                        feature: f,
                        wanted: *on,
                    });
                }
                Some(f) => gates = gates.with(f, *on),
                None if name == "AllAlpha" || name == "AllBeta" => {}
                None => return Err(FeatureGateError::Unknown(name.clone())),
            }
        }
        let unmet = gates.unmet_dependencies();
        if unmet.is_empty() {
            Ok(gates)
        } else {
            Err(FeatureGateError::Dependencies(unmet))
        }
    }

    /// Enabled gates with their disabled dependencies.
    pub(super) fn unmet_dependencies(&self) -> Vec<(Feature, Vec<Feature>)> {
        Feature::all()
            .filter(|f| self.enabled(*f))
            .map(|f| {
                (
                    f,
                    f.depends_on()
                        .iter()
                        .copied()
                        .filter(|d| !self.enabled(*d))
                        .collect(),
                )
            })
            .filter(|(_, off): &(Feature, Vec<Feature>)| !off.is_empty())
            .collect()
    }

    /// The gates that differ from their defaults.
    pub(crate) fn non_default(&self) -> impl Iterator<Item = (Feature, bool)> + '_ {
        Feature::all()
            .map(|f| (f, self.enabled(f)))
            .filter(|(f, on)| f.default() != *on)
    }
}

impl fmt::Debug for FeatureGates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.non_default().map(|(f, on)| (f.name(), on)))
            .finish()
    }
}
