//! [`LabStart`]: the stages of a start that labs on all clusters have.

use std::future::Future;
use std::sync::Arc;

use kube::Client;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::config::LabConfig;
use crate::containers::Containers;
use crate::error::LabError;
use crate::kueue_manager::{ConfigurationRollout, CurrentController};
use crate::kueue_start::KueueStart;
use crate::lab_clock::LabClock;
use crate::lab_parts::LabParts;
use crate::node_pool_sources::NodePoolSources;
use crate::node_pools_reloader;
use crate::preset_lab_settings::{PresetLabSettings, PresetWorkers, read_pools};
use crate::started_parts::StartedParts;
use crate::worker_clusters::WorkerClusters;
use crate::workers::without_multikueue;
use kueue_lab_cluster::Cluster;
use kueue_lab_controller_runtime::{ComponentClients, Context};
use kueue_lab_machines::{Machines, MachinesConfig};
use kueue_lab_presets::{IgnoredSettings, PresetSettings, Presets, PresetsConfig, read_settings};
use kueue_lab_skypilot::SkyEnv;
use kueue_lab_skypilot::jobs::ManagedJobs;

/// A lab that starts.
pub(crate) struct LabStart<'a> {
    pub(crate) config: LabConfig,
    /// The settings of the first preset.
    pub(crate) settings: PresetSettings,
    pub(crate) kueue: KueueStart,
    pub(crate) workers: WorkerClusters,
    /// The parts that run already.
    pub(crate) started: &'a StartedParts,
}

/// The cluster of a lab with its machines and controller, before the first preset.
pub(crate) struct ControlPlane {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) context: Context,
    pub(crate) machines: Arc<Machines>,
    pub(crate) nodes: StartedNodes,
    /// The current controller, if one runs.
    pub(crate) controller: Option<CurrentController>,
    /// Rolls out configurations of presets, if the lab can.
    pub(crate) rollout: Option<ConfigurationRollout>,
}

/// The nodes of a lab, which are being created.
pub(crate) struct StartedNodes {
    sources: NodePoolSources,
    /// Ends when they exist.
    exist: AbortOnDropHandle<()>,
}

impl<'a> LabStart<'a> {
    /// Nothing runs yet.
    ///
    /// # Errors
    /// The configuration of the controller cannot be used.
    pub(crate) fn new(mut config: LabConfig, started: &'a StartedParts) -> Result<Self, LabError> {
        let settings = match (&config.cluster.snapshot, &config.presets.active) {
            // The files may have changed since.
            (Some(snapshot), _) => snapshot.presets.settings().clone(),
            (None, Some(preset)) => read_settings(&config.presets.folder, preset),
            (None, None) => PresetSettings::default(),
        };
        // Workers have the configuration that the next line takes.
        let workers = WorkerClusters::new(&config);
        let kueue = KueueStart::new(&mut config, &settings)?;
        Ok(Self {
            config,
            settings,
            kueue,
            workers,
            started,
        })
    }

    /// The context of the tasks of the lab.
    pub(crate) fn context(&self, clients: &ComponentClients) -> Context {
        let (clock, entropy) = (self.config.clock.clone(), self.config.entropy.clone());
        let streams_lists = self.config.cluster.remote.is_none();
        Context::new(clients.client("kueue"), clock, entropy).with_streaming_lists(streams_lists)
    }

    /// Starts the machines without the controllers of kube-controller-manager.
    pub(crate) async fn start_machines(
        &self,
        context: &Context,
        clients: ComponentClients,
        config: MachinesConfig,
        containers: &Containers,
    ) -> Arc<Machines> {
        let machines = Machines::start_without_controller_manager(
            clients,
            self.config.clock.clone(),
            self.config.entropy.clone(),
            config,
            containers.runtime(),
        );
        let machines = Arc::new(machines.await);
        machines.set_host_addresses(self.config.cluster.host_addresses.clone());
        let (stopped, tasks) = (machines.clone(), context.tasks.clone());
        self.started.push(async move { stopped.shutdown().await });
        self.started.push(async move { tasks.shutdown().await });
        machines
    }

    /// Creates the nodes of the first preset, or else the lab's own, in a task, and watches their file.
    pub(crate) async fn start_nodes(
        &mut self,
        context: &Context,
        machines: &Arc<Machines>,
    ) -> StartedNodes {
        let components = &mut self.config.components;
        let is_remote = self.config.cluster.remote.is_some();
        let has_real_nodes = is_remote || components.nodes.pools.is_empty();
        let of_preset = self.settings.nodes.as_ref();
        let of_preset = of_preset.filter(|_| components.nodes_of_presets);
        let own = std::mem::take(&mut components.nodes);
        let sources = NodePoolSources::new(machines, own, of_preset.and_then(read_pools));
        let exist = sources.start().await;
        if let Some(file) = components.nodes_file.take() {
            node_pools_reloader::watch_file(context, &sources, file);
        }
        let client = has_real_nodes.then(|| context.client.clone());
        StartedNodes {
            sources: sources.with_real_nodes(client),
            exist,
        }
    }

    /// What this lab does not take from presets.
    pub(crate) fn ignored_settings(&self) -> IgnoredSettings {
        IgnoredSettings {
            configuration: self.kueue.ignores_presets,
            nodes: (!self.config.components.nodes_of_presets)
                .then_some("the nodes are those of --nodes or of the cluster"),
        }
    }

    /// Applies the first preset, waits for the nodes, and opens the listener.
    ///
    /// # Errors
    /// The preset is invalid and must not be, or the port cannot be opened.
    pub(crate) async fn start_presets(self, control: ControlPlane) -> Result<LabParts, LabError> {
        let ControlPlane {
            cluster,
            context,
            machines,
            nodes,
            controller,
            rollout,
        } = control;
        let (client, clock) = (cluster.client(), self.config.clock.clone());
        let config =
            self.presets_config(client.clone(), nodes.sources, controller.clone(), rollout);
        let presets = Box::pin(Presets::start(client.clone(), clock.clone(), config)).await?;
        let presets = Arc::new(presets);
        let stopped = presets.clone();
        self.started.push(async move { stopped.shutdown().await });
        // A task that panics has logged it, and is retried as the nodes' reconciliation.
        let _ = nodes.exist.await;
        let options = &self.config.cluster;
        if options.snapshot.is_none() {
            machines.create_service_accounts().await;
        }
        let sky = SkyEnv::new(cluster.name());
        let jobs = ManagedJobs::new(client, clock, self.config.entropy.clone(), sky);
        let stopped = jobs.clone();
        self.started.push(async move { stopped.shutdown().await });
        if options.port.is_some() {
            let closed = cluster.clone();
            self.started.push(async move { closed.close().await });
            cluster.open().await?;
        }
        let gate = &self.kueue.config.cycle_gate;
        let lab_clock = LabClock::start(&context, gate, controller.clone());
        Ok(LabParts {
            cluster,
            context,
            machines,
            controller,
            clock: lab_clock,
            presets,
            jobs,
            workers: self.workers,
        })
    }

    fn presets_config(
        &self,
        client: Client,
        nodes: NodePoolSources,
        controller: Option<CurrentController>,
        rollout: Option<ConfigurationRollout>,
    ) -> PresetsConfig {
        let cluster = &self.config.cluster;
        let workers = PresetWorkers {
            fixed_number: self.workers.fixed_number(&cluster.role),
            workers: self.workers.clone(),
            manager: client,
        };
        let lab = PresetLabSettings::new(
            rollout,
            controller,
            nodes,
            self.ignored_settings(),
            workers,
            self.kueue.base_text(),
            self.kueue.start_text(),
        );
        let presets = self.config.presets.clone();
        PresetsConfig {
            folder: presets.folder,
            active: presets.active,
            active_must_be_valid: presets.must_be_valid,
            watch: presets.watch,
            lists_all: cluster.external_clients,
            base: self.kueue.base.clone(),
            lab: Some(Arc::new(lab)),
            applied_settings: self.kueue.applied_settings(&self.settings),
            review: presets.review,
            adapt: cluster.role.worker_name().map(|_| without_multikueue as _),
            apply: presets.apply,
            snapshot: cluster.snapshot.as_ref().map(|s| s.presets.clone()),
        }
    }
}

/// Runs stages of a start until `stop` is cancelled.
///
/// # Errors
/// Those of the stages, and [`LabError::Interrupted`].
pub(crate) async fn unless_cancelled<T>(
    stop: &CancellationToken,
    stages: impl Future<Output = Result<T, LabError>>,
) -> Result<T, LabError> {
    tokio::select! {
        result = stages => result,
        () = stop.cancelled() => Err(LabError::Interrupted),
    }
}
