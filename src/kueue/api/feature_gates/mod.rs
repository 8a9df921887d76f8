//! Feature gates: Kueue's gates with their defaults, and the parsers of `Name=true,...` and
//! `featureGates:`.

mod feature;
mod gates;
mod kube_features;

pub use feature::FeatureStage;
pub use gates::{FeatureGateError, FeatureGates};
pub use kube_features::Feature;

#[cfg(test)]
mod tests;
