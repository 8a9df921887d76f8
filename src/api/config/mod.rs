//! Kueue's own configuration: the file `Configuration` of `config.kueue.x-k8s.io`, and feature gates.
//!
//! Must not know how the configuration is used.

mod features;

pub use features::{Feature, FeatureGateError, FeatureGates, Stage};
