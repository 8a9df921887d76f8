//! Applies the settings of presets: Kueue's configuration, the node pools and the worker clusters.

use async_trait::async_trait;
use kube::Client;
use tokio::sync::Mutex;

use crate::configuration_changes::describe_changes;
use crate::kueue_manager::{ConfigurationRollout, CurrentController, InstalledConfiguration};
use crate::node_pool_sources::NodePoolSources;
use crate::sample_capacity::check_samples;
use crate::worker_clusters::WorkerClusters;
use kueue_lab_api::config::{CONFIG_MAP_KEY, Configuration, FeatureGates, load};
use kueue_lab_controller::ClientWrite;
use kueue_lab_controller_runtime::{ObjectKey, ObservedWrite};
use kueue_lab_nodes::NodePools;
use kueue_lab_presets::{
    Finding, IgnoredSettings, LabNode, LabSettings, ObjectWrite, PresetSettings, Sample,
    SchedulingHold, SourceFile, WorkersOfPreset,
};

/// A configuration and its text.
#[derive(Clone)]
pub(crate) struct ConfigurationText {
    pub(crate) configuration: Configuration,
    pub(crate) gates: FeatureGates,
    pub(crate) text: String,
}

/// The worker clusters of a lab that presets start and stop.
pub(crate) struct PresetWorkers {
    pub(crate) workers: WorkerClusters,
    /// Their number if presets do not change it.
    pub(crate) fixed_number: Option<usize>,
    /// The client of the manager.
    pub(crate) manager: Client,
}

/// The parts of a lab that presets configure.
pub(crate) struct PresetLabSettings {
    /// Rolls out configurations; `None` if [`IgnoredSettings::configuration`] says why not.
    rollout: Option<ConfigurationRollout>,
    nodes: NodePoolSources,
    ignored: IgnoredSettings,
    /// The controller; `None` if the lab starts none.
    controller: Option<CurrentController>,
    workers: PresetWorkers,
    /// The configuration of presets without `kueue.yaml`.
    base: ConfigurationText,
    /// The configuration that was applied last.
    applied: Mutex<ConfigurationText>,
}

impl PresetLabSettings {
    /// The settings of a lab that runs with `applied`.
    pub(crate) fn new(
        rollout: Option<ConfigurationRollout>,
        controller: Option<CurrentController>,
        nodes: NodePoolSources,
        ignored: IgnoredSettings,
        workers: PresetWorkers,
        base: ConfigurationText,
        applied: ConfigurationText,
    ) -> Self {
        Self {
            rollout,
            controller,
            nodes,
            ignored,
            workers,
            base,
            applied: Mutex::new(applied),
        }
    }

    async fn apply_configuration(&self, file: Option<&SourceFile>) -> Vec<String> {
        let Some(rollout) = &self.rollout else {
            return Vec::new();
        };
        let wanted = match file {
            None => Some(self.base.clone()),
            Some(file) => read_configuration(file),
        };
        // A file of the preset is one of the user; the ConfigMap of an imported cluster is not.
        let of_user = file.filter(|file| file.name != CONFIG_MAP_KEY);
        let of_user = of_user.and(wanted.as_ref());
        rollout
            .set_host_configuration(of_user.map(|wanted| (&wanted.configuration, &wanted.gates)));
        let mut applied = self.applied.lock().await;
        let Some(wanted) = wanted.filter(|wanted| wanted.text != applied.text) else {
            return Vec::new();
        };
        let changes = describe_changes(&applied.configuration, &wanted.configuration);
        let installed = InstalledConfiguration {
            text: &wanted.text,
            base: &self.base.text,
        };
        let outcome = rollout
            .apply(installed, &applied.text, changes.is_some())
            .await;
        *applied = wanted;
        let mut lines: Vec<String> = outcome.warning.into_iter().collect();
        lines.extend(changes.map(|changes| match outcome.restarted {
            true => format!("the controller restarted with a new configuration: {changes}"),
            false => format!("configuration: {changes}"),
        }));
        lines
    }

    async fn apply_nodes(&self, file: Option<&SourceFile>) -> Option<String> {
        if self.ignored.nodes.is_some() {
            return None;
        }
        let pools = file.and_then(read_pools);
        let of = if pools.is_some() {
            "the preset"
        } else {
            "the lab"
        };
        let count = self.nodes.set_preset(pools).await?;
        Some(format!("{count} nodes of {of}"))
    }
}

/// The pools of a checked file.
pub(crate) fn read_pools(file: &SourceFile) -> Option<NodePools> {
    NodePools::parse(std::str::from_utf8(&file.bytes).ok()?).ok()
}

/// A write as the controller observes it.
fn client_write(write: &ObjectWrite) -> ClientWrite {
    let ObjectWrite {
        key,
        resource_version,
        is_deletion,
    } = write;
    ClientWrite {
        group: key.group.clone(),
        kind: key.kind.clone(),
        key: ObjectKey::new(key.namespace.clone().unwrap_or_default(), &key.name),
        write: if *is_deletion {
            ObservedWrite::Deleted(*resource_version)
        } else {
            ObservedWrite::Applied(*resource_version)
        },
    }
}

/// The configuration of a checked file.
fn read_configuration(file: &SourceFile) -> Option<ConfigurationText> {
    let loaded = load(std::str::from_utf8(&file.bytes).ok()?).ok()?;
    Some(ConfigurationText {
        configuration: loaded.configuration,
        gates: loaded.gates,
        text: loaded.source,
    })
}

#[async_trait]
impl LabSettings for PresetLabSettings {
    fn ignored(&self) -> IgnoredSettings {
        self.ignored
    }

    fn workers(&self) -> Option<usize> {
        self.workers.fixed_number
    }

    fn check_workers(&self, workers: &WorkersOfPreset) -> Vec<Finding> {
        self.workers.workers.check(workers)
    }

    fn check_nodes(&self, nodes: &SourceFile, samples: &[Sample]) -> Vec<Finding> {
        let text = String::from_utf8_lossy(&nodes.bytes);
        match NodePools::parse(&text) {
            Ok(pools) => check_samples(nodes, &pools, samples),
            Err(problem) => vec![Finding::error(&nodes.name, problem.at, problem.message)],
        }
    }

    async fn nodes(&self, file: Option<&SourceFile>) -> Vec<LabNode> {
        let of_preset = file.filter(|_| self.ignored.nodes.is_none());
        self.nodes.all_nodes(of_preset.and_then(read_pools)).await
    }

    async fn apply(&self, preset: &str, settings: &PresetSettings) -> Vec<String> {
        let mut lines = self
            .apply_configuration(settings.configuration.as_ref())
            .await;
        lines.extend(self.apply_nodes(settings.nodes.as_ref()).await);
        let PresetWorkers {
            workers, manager, ..
        } = &self.workers;
        let clusters = settings.clusters.as_ref();
        lines.extend(workers.apply(preset, clusters, manager).await);
        lines
    }

    async fn wait_until_observed(&self, writes: &[ObjectWrite]) {
        if let Some(controller) = &self.controller {
            let writes: Vec<ClientWrite> = writes.iter().map(client_write).collect();
            controller.get().shared().wait_until_observed(&writes).await;
        }
    }

    async fn hold_scheduling(&self) -> SchedulingHold {
        match &self.controller {
            Some(controller) => Box::new(controller.get().shared().hold_scheduling().await),
            None => Box::new(()),
        }
    }
}
