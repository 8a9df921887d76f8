//! [`PresetsSnapshot`]: the applied preset of a lab, from which further labs start.

use std::collections::BTreeMap;

use super::apply_diff::AppliedObjects;
use super::discovery::DiscoveryCache;
use super::folder::PresetSource;
use super::preset_settings::PresetSettings;
use super::{PresetsState, ResourceKey};

/// The applied state of the presets of a lab, for a lab that starts with the same objects in its cluster.
#[derive(Clone)]
pub struct PresetsSnapshot {
    pub(super) kinds: DiscoveryCache,
    pub(super) applied_objects: AppliedObjects,
    pub(super) versions: BTreeMap<ResourceKey, String>,
    pub(super) last_read: Option<PresetSource>,
    pub(super) settings: PresetSettings,
    pub(super) state: PresetsState,
}

impl PresetsSnapshot {
    /// The settings of the applied preset.
    pub fn settings(&self) -> &PresetSettings {
        &self.settings
    }
}
