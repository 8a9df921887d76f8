//! Feature gates: which are on, and how `Name=true,...` and `featureGates:` are read.

mod kube_features;

use std::collections::BTreeMap;
use std::fmt;

pub use kube_features::Feature;
use kube_features::TABLE;

/// How settled a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeatureStage {
    /// An experiment, off by default.
    Alpha,
    /// Settled enough to be on by default.
    Beta,
    /// Here to stay; the gate is locked.
    GenerallyAvailable,
    /// On its way out.
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
        TABLE.iter().map(|row| row.feature)
    }

    /// The gate of a name.
    pub fn named(name: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.feature)
    }

    fn spec(self) -> &'static kube_features::FeatureSpec {
        &TABLE[self as usize]
    }

    /// Upstream's name.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether the gate is on where nothing is said.
    pub fn default(self) -> bool {
        self.spec().default
    }

    /// How settled the feature is.
    pub fn stage(self) -> FeatureStage {
        self.spec().stage
    }

    /// The release since which default and stage hold.
    pub fn since(self) -> &'static str {
        self.spec().since
    }

    /// Gates that must be on for this one.
    pub fn depends_on(self) -> &'static [Self] {
        self.spec().depends_on
    }

    /// Whether the gate cannot be changed any more.
    pub fn is_locked(self) -> bool {
        self.stage() == FeatureStage::GenerallyAvailable
    }

    fn bit(self) -> u128 {
        1 << (self as u32)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why gates cannot be set so, in upstream's words.
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
        /// What was given.
        value: String,
    },
    /// No such gate.
    #[error("unrecognized feature gate: {0}")]
    Unknown(String),
    /// A gate that cannot be changed any more.
    #[error("cannot set feature gate {feature} to {wanted}, feature is locked to {}", feature.default())]
    Locked {
        /// The gate.
        feature: Feature,
        /// What was asked for.
        wanted: bool,
    },
    /// Gates that are on without what they need.
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

/// Which gates are on. Small and cheap to copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FeatureGates {
    on: u128,
}

impl Default for FeatureGates {
    /// As an unconfigured Kueue has them.
    fn default() -> Self {
        let on = Feature::all()
            .filter(|f| f.default())
            .fold(0, |on, f| on | f.bit());
        Self { on }
    }
}

impl FeatureGates {
    /// Whether a gate is on.
    pub fn enabled(&self, feature: Feature) -> bool {
        self.on & feature.bit() != 0
    }

    /// The same gates but for one, whatever depends on it.
    #[must_use]
    pub fn with(self, feature: Feature, on: bool) -> Self {
        let bit = feature.bit();
        Self {
            on: if on { self.on | bit } else { self.on & !bit },
        }
    }

    /// The defaults changed as `Name=true,Other=false` says.
    ///
    /// # Errors
    /// The text cannot be read, names no gate, or its gates do not go together.
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

    /// The defaults changed as a `featureGates` map says. `AllAlpha` and `AllBeta` stand for all gates
    /// of a stage that are not named themselves.
    ///
    /// # Errors
    /// A name is of no gate, or the gates do not go together.
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

    /// Gates that are on while something they depend on is off.
    fn unmet_dependencies(&self) -> Vec<(Feature, Vec<Feature>)> {
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

    /// The gates that differ from their defaults, for people.
    pub fn non_default(&self) -> impl Iterator<Item = (Feature, bool)> + '_ {
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

#[cfg(test)]
mod tests;
