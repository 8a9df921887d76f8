//! The lab that a preset configures.

use async_trait::async_trait;
use kueue_lab_api::config::{Configuration, FeatureGates};

use super::clusters_file::WorkersOfPreset;
use super::preset_settings::PresetSettings;
use super::{Finding, LabNode, ObjectWrite, Sample, SourceFile};

/// The configuration of a lab without `kueue.yaml`.
#[derive(Clone, Debug)]
pub struct BaseConfiguration {
    /// The configuration.
    pub configuration: Configuration,
    /// Its feature gates.
    pub gates: FeatureGates,
}

impl Default for BaseConfiguration {
    fn default() -> Self {
        Self {
            configuration: Configuration::defaulted(),
            gates: FeatureGates::default(),
        }
    }
}

/// The reasons that a lab ignores settings of presets; `None` for settings that it applies.
#[derive(Clone, Copy, Debug, Default)]
pub struct IgnoredSettings {
    /// The reason that `kueue.yaml` is ignored.
    pub configuration: Option<&'static str>,
    /// The reason that `nodes.yaml` is ignored.
    pub nodes: Option<&'static str>,
}

/// Guards a scheduler that is held.
pub type SchedulingHold = Box<dyn Send>;

/// A lab that applies the settings of presets.
#[async_trait]
pub trait LabSettings: Send + Sync {
    /// The settings that have no effect.
    fn ignored(&self) -> IgnoredSettings;

    /// The number of its worker clusters if presets do not change it; `None` for a worker cluster.
    fn workers(&self) -> Option<usize>;

    /// Checks `nodes.yaml`, and that its nodes can run the Pods of the samples.
    fn check_nodes(&self, nodes: &SourceFile, samples: &[Sample]) -> Vec<Finding>;

    /// Checks that the kubeconfigs of worker clusters can be used.
    fn check_workers(&self, workers: &WorkersOfPreset) -> Vec<Finding>;

    /// The nodes with a `nodes.yaml`, or without; empty if they are not known.
    async fn nodes(&self, file: Option<&SourceFile>) -> Vec<LabNode>;

    /// Applies checked settings of a preset; settings that are absent become those of the lab. Returns one
    /// line for each change.
    async fn apply(&self, preset: &str, settings: &PresetSettings) -> Vec<String>;

    /// Waits until the controllers have observed writes of the preset.
    async fn wait_until_observed(&self, writes: &[ObjectWrite]);

    /// Holds the scheduler, so that it does not decide on a part of the changes of a preset. It resumes when
    /// the guard is dropped.
    async fn hold_scheduling(&self) -> SchedulingHold;
}
