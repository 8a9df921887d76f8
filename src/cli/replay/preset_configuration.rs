//! The configuration of a replay, from a preset.

use std::path::Path;

use kueue_lab_controller::{ControllerConfig, Settings};
use kueue_lab_lab::NodePools;
use kueue_lab_presets::{self as presets, BaseConfiguration, Finding, check_preset};
use kueue_lab_simulation::replay::ReplayConfiguration;

use crate::cli::CommandError;
use kueue_lab_clock::Clock;

/// The configuration of a preset: its objects, its `kueue.yaml` and its `nodes.yaml`. Without these files
/// it has the lab's configuration and the nodes of `default_nodes`.
///
/// # Errors
/// All problems of the preset, with file and line.
pub(super) fn preset_configuration(
    folder: &Path,
    name: &str,
    default_nodes: &NodePools,
) -> Result<ReplayConfiguration, CommandError> {
    let source = presets::read(folder, name).map_err(CommandError::usage)?;
    let own = ControllerConfig::default();
    let base = BaseConfiguration {
        configuration: own.configuration.clone(),
        gates: own.gates,
    };
    let parsed = check_preset(&source, &base, None, &[]);
    let errors = parsed.findings.iter().filter(|finding| finding.is_error());
    let mut errors: Vec<String> = errors.map(ToString::to_string).collect();
    let configuration = source.settings.configuration.as_ref();
    let controller = configuration.and_then(|file| {
        let text = std::str::from_utf8(&file.bytes).ok()?;
        // Problems are findings of the preset.
        kueue_lab_api::config::load(text).ok()
    });
    let settings = Settings::new(controller.map_or(own, ControllerConfig::from));
    let pools = match &source.settings.nodes {
        None => default_nodes.clone(),
        Some(file) => match NodePools::parse(&String::from_utf8_lossy(&file.bytes)) {
            Ok(pools) => pools,
            Err(problem) => {
                let finding = Finding::error(&file.name, problem.at, problem.message);
                errors.push(finding.to_string());
                NodePools::default()
            }
        },
    };
    if !errors.is_empty() {
        return Err(CommandError::usage(errors.join("\n")));
    }
    let objects = parsed.manifests.into_iter().map(|manifest| manifest.object);
    Ok(ReplayConfiguration {
        name: name.to_owned(),
        engine: settings.engine(),
        pods_ready: settings.wait_for_pods_ready.is_some(),
        objects: objects.collect(),
        nodes: pools.nodes(Clock::real().now()),
    })
}
