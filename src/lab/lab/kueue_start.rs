//! How the controller of a lab starts: with the configuration of a flag, of the first preset, or the
//! lab's own.

use crate::config::LabConfig;
use crate::error::LabError;
use crate::kueue_manager::CurrentGates;
use crate::preset_lab_settings::ConfigurationText;
use kueue_lab_api::config::{CONFIG_MAP_KEY, LoadedConfiguration, load};
use kueue_lab_controller::{ControllerConfig, HostConfiguration};
use kueue_lab_presets::{BaseConfiguration, PresetSettings, SourceFile};

/// How the controller starts.
pub(crate) struct KueueStart {
    /// Its configuration.
    pub(crate) config: ControllerConfig,
    /// The configuration as a file.
    pub(crate) source: String,
    /// Whether a flag or the first preset has the configuration.
    pub(crate) is_given: bool,
    /// Its feature gates.
    pub(crate) gates: CurrentGates,
    /// The configuration of presets without `kueue.yaml`.
    pub(crate) base: BaseConfiguration,
    /// That configuration as a file.
    pub(crate) base_source: String,
    /// The reason that `kueue.yaml` of presets is ignored, if it is.
    pub(crate) ignores_presets: Option<&'static str>,
}

impl KueueStart {
    /// Takes the configuration out of `config`; `settings` are those of the first preset.
    ///
    /// # Errors
    /// The configuration cannot be written as a file, or that of the objects to start from cannot be loaded.
    pub(crate) fn new(config: &mut LabConfig, settings: &PresetSettings) -> Result<Self, LabError> {
        let (cluster, components) = (&config.cluster, &mut config.components);
        let ignores_presets = if components.kueue.is_some() {
            Some("--config names the configuration")
        } else if cluster.remote.is_some() {
            Some(
                "on an existing cluster the configuration is that of --config; start the lab with --config and this file",
            )
        } else if !components.controller {
            Some("this lab runs no controller")
        } else {
            None
        };
        let has_flag = components.kueue.is_some();
        let host = match cluster.remote {
            Some(_) => HostConfiguration::of_manager(),
            None => HostConfiguration::of_embedded_cluster(),
        };
        host.set(
            components
                .kueue
                .as_ref()
                .map(|flag| (&flag.configuration, &flag.gates)),
        );
        let (given, base) = match (components.kueue.take(), &cluster.from) {
            // Those of the cluster from which the lab starts.
            (None, Some(from)) => (from.configuration()?, from.base_configuration()),
            (given, _) => (given, None),
        };
        let given = Source::new(given)?;
        let of_preset = settings.configuration.as_ref();
        let of_preset = of_preset.filter(|_| ignores_presets.is_none());
        let of_preset = of_preset.and_then(|file| std::str::from_utf8(&file.bytes).ok());
        // An invalid configuration is reported when the preset is applied.
        let of_preset = of_preset.and_then(|text| load(text).ok());
        if let Some(preset) = &of_preset {
            host.set(Some((&preset.configuration, &preset.gates)));
        }
        let base = match base {
            Some(base) => Source::new(Some(base))?,
            None => given.clone(),
        };
        let base_configuration = BaseConfiguration {
            configuration: base.config.configuration.clone(),
            gates: base.config.gates,
        };
        let is_given = has_flag || of_preset.is_some();
        let mut start = match of_preset {
            Some(loaded) => Source::new(Some(loaded))?,
            None => given,
        };
        start.config.host = host;
        Ok(Self {
            gates: CurrentGates::new(start.config.gates),
            config: start.config,
            source: start.text,
            is_given,
            base: base_configuration,
            base_source: base.text,
            ignores_presets,
        })
    }

    /// The settings that are applied at the start: those of the first preset, or the configuration of a preset that
    /// the objects to start from have.
    pub(crate) fn applied_settings(&self, settings: &PresetSettings) -> PresetSettings {
        let is_of_objects = settings.configuration.is_none() && self.source != self.base_source;
        let configuration = is_of_objects.then(|| SourceFile {
            name: CONFIG_MAP_KEY.to_owned(),
            bytes: self.source.clone().into_bytes(),
        });
        PresetSettings {
            configuration: configuration.or_else(|| settings.configuration.clone()),
            ..settings.clone()
        }
    }

    /// The configuration of presets without `kueue.yaml`.
    pub(crate) fn base_text(&self) -> ConfigurationText {
        ConfigurationText {
            configuration: self.base.configuration.clone(),
            gates: self.base.gates,
            text: self.base_source.clone(),
        }
    }

    /// The configuration of the start.
    pub(crate) fn start_text(&self) -> ConfigurationText {
        ConfigurationText {
            configuration: self.config.configuration.clone(),
            gates: self.config.gates,
            text: self.source.clone(),
        }
    }
}

/// A configuration and its text.
#[derive(Clone)]
struct Source {
    config: ControllerConfig,
    text: String,
}

impl Source {
    fn new(loaded: Option<LoadedConfiguration>) -> Result<Self, LabError> {
        let given = loaded.as_ref().map(|loaded| loaded.source.clone());
        let config = loaded.map(ControllerConfig::from).unwrap_or_default();
        let text = match given {
            Some(text) => text,
            None => config
                .configuration
                .to_yaml()
                .map_err(|error| LabError::Configuration(error.to_string()))?,
        };
        Ok(Self { config, text })
    }
}
