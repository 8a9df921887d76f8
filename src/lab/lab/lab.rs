//! A running lab: starts and stops its parts in order.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ca_bundle::CaBundle;
use crate::config::LabConfig;
use crate::containers::Containers;
use crate::embedded_cluster::embedded_cluster;
use crate::error::LabError;
use crate::explanation_server::ExplanationServer;
use crate::idle::LabActivity;
use crate::job_webhooks::JobWebhooksPlugin;
use crate::kueue_manager::{
    self, CertRotation, ConfigurationRollout, ControllerInstances, CurrentController,
    InstalledConfiguration, ManagerControlPlane,
};
use crate::kueue_start::KueueStart;
use crate::node_pool_sources::NodePoolSources;
use crate::object_file::ObjectFile;
use crate::preset_lab_settings::{PresetLabSettings, PresetWorkers, read_pools};
use crate::validate_preset::validate_preset;
use crate::visibility_server::VisibilityServer;
use crate::worker_clusters::WorkerClusters;
use crate::workers::{merged_kubeconfig, without_multikueue};
use crate::{kubelet_client, kueue_crds, lab_kinds, node_pools_reloader, remote};
use kueue_lab_clock::Clock;
use kueue_lab_cluster::Cluster;
use kueue_lab_cluster::plugins::AggregatedApi;
use kueue_lab_controller::{Controller, NetworkClients, UpstreamLatency};
use kueue_lab_controller_runtime::{ComponentClients, Context};
use kueue_lab_engine::engine::ExhaustedLimit;
use kueue_lab_machines::{Machines, MachinesConfig};
use kueue_lab_manager::Operator;
use kueue_lab_presets::{IgnoredSettings, PresetSettings, Presets, PresetsConfig, read_settings};
use kueue_lab_skypilot::SkyEnv;
use kueue_lab_skypilot::jobs::ManagedJobs;

/// A running lab.
pub struct Lab {
    cluster: Cluster,
    context: Context,
    machines: Arc<Machines>,
    /// The current controller, if one runs.
    controller: Option<CurrentController>,
    /// The instances of the controller on an embedded cluster.
    instances: Option<ControllerInstances>,
    /// Runs the controller on an existing cluster.
    operator: Option<Operator>,
    presets: Arc<Presets>,
    jobs: ManagedJobs,
    /// The embedded worker clusters.
    workers: WorkerClusters,
    starts_from_snapshots: bool,
    /// Whether controllers run at all.
    has_controllers: bool,
    /// The tasks that [`start_controllers`](Self::start_controllers) starts, until then.
    controllers: Option<LabControllers>,
}

/// The controllers that start last.
struct LabControllers {
    /// Whether Kueue has Services, roles and webhook configurations.
    has_access: bool,
    /// The rotation of the certificate of its webhooks, if it has them.
    rotation: Option<CertRotation>,
    /// Whether the cluster serves managed jobs.
    managed_jobs: bool,
    /// Whether it serves the lab's kinds.
    lab_kinds: bool,
}

impl Lab {
    /// Starts all parts; returns when the first preset is applied and the listener is open.
    ///
    /// # Errors
    /// [`LabError`]; all parts are stopped again.
    pub async fn start(config: LabConfig) -> Result<Self, LabError> {
        let mut lab = Self::start_without_controllers(config, &CancellationToken::new()).await?;
        lab.start_controllers();
        Ok(lab)
    }

    /// Like [`start`](Self::start), without the controllers that
    /// [`start_controllers`](Self::start_controllers) starts, and with cancellation: it may wait long while
    /// another lab leads.
    ///
    /// # Errors
    /// As [`start`](Self::start), and [`LabError::Interrupted`]; installed objects stay, except
    /// webhooks that no process would answer.
    pub async fn start_without_controllers(
        mut config: LabConfig,
        stop: &CancellationToken,
    ) -> Result<Self, LabError> {
        let settings = match (&config.snapshot, &config.preset) {
            // The files may have changed since.
            (Some(snapshot), _) => snapshot.presets.settings().clone(),
            (None, Some(preset)) => read_settings(&config.presets, preset),
            (None, None) => PresetSettings::default(),
        };
        let starts_from_snapshots = config.starts_from_snapshots();
        if config.remote.is_none() && config.preset.is_some() && config.external_clients {
            kueue_crds::compile_rules();
        }
        let workers = WorkerClusters::new(&config);
        let mut kueue = KueueStart::new(&mut config, &settings)?;
        if let Err(error) = workers.start(&workers.first(&config, &settings)).await {
            workers.stop().await;
            return Err(error);
        }
        kueue.config.worker_clients = workers.clients();
        if let Some(remote) = &config.remote {
            kueue.config.worker_clients = Arc::new(NetworkClients);
            kueue.config.upstream_latency = UpstreamLatency::NONE;
            // An invalid preset must not leave a partial installation behind.
            if let Some(preset) = &config.preset {
                let client = remote.client();
                validate_preset(
                    &client,
                    &config.presets,
                    preset,
                    &kueue.base,
                    config.preset_must_be_valid,
                )
                .await?;
            }
        }
        let ca_bundle = CaBundle::default();
        let mut led = None;
        let cluster = match &config.remote {
            None => {
                let embedded = embedded_cluster(&mut config, &kueue.gates, &ca_bundle);
                Cluster::Embedded(embedded.await?)
            }
            Some(remote) => {
                let lead = remote::start_leading(
                    remote,
                    &config.clock,
                    &config.entropy,
                    &kueue.config,
                    stop,
                );
                led = Some(lead.await?);
                Cluster::Remote(Box::new(remote.clone()))
            }
        };
        let has_webhooks = config.runs_kueue() && config.external_clients;
        let webhooks_client = match &cluster {
            Cluster::Embedded(embedded) => has_webhooks.then(|| embedded.client()),
            Cluster::Remote(_) => None,
        };
        let rotation = match webhooks_client {
            // No definition is read before.
            Some(client) => Some(CertRotation::new(client, &config.clock, ca_bundle).await?),
            None => None,
        };
        let (operator, controller) = match led {
            Some((operator, controller)) => (Some(operator), Some(controller)),
            None => (None, None),
        };
        let leader = operator.as_ref().zip(controller);
        let raised = tokio::select! {
            raised = Self::start_components(config, settings, kueue, cluster, rotation, leader, &workers) => raised,
            () = stop.cancelled() => Err(LabError::Interrupted),
        };
        match raised {
            Ok(lab) => {
                workers.follow(&lab.context, &lab.presets);
                Ok(Self {
                    operator,
                    starts_from_snapshots,
                    ..lab
                })
            }
            Err(error) => {
                workers.stop().await;
                if let Some(operator) = operator {
                    operator.stop().await;
                }
                Err(error)
            }
        }
    }

    /// Starts all other parts, for a controller that leads or with a new one.
    async fn start_components(
        config: LabConfig,
        settings: PresetSettings,
        kueue: KueueStart,
        mut cluster: Cluster,
        rotation: Option<CertRotation>,
        leader: Option<(&Operator, Controller)>,
        workers: &WorkerClusters,
    ) -> Result<Self, LabError> {
        let (operator, controller) = leader.unzip();
        let runs_kueue = config.runs_kueue();
        let client = cluster.client();
        let clients = match &cluster {
            Cluster::Embedded(embedded) => ComponentClients::new(embedded.client_factory()),
            Cluster::Remote(_) => client.clone().into(),
        };
        let context = Context::new(
            clients.client("kueue"),
            config.clock.clone(),
            config.entropy.clone(),
        )
        .with_streaming_lists(matches!(cluster, Cluster::Embedded(_)));
        let containers = Containers::default();
        let machines = Machines::start_without_controller_manager(
            clients,
            config.clock.clone(),
            config.entropy.clone(),
            match cluster {
                Cluster::Embedded(_) if !config.controllers => MachinesConfig::disabled(),
                Cluster::Embedded(_) => MachinesConfig {
                    operators: config.operators,
                    imported_nodes: config.is_imported
                        || config.from.as_ref().is_some_and(ObjectFile::is_import),
                    sparse_heartbeats: !config.external_clients,
                    ..MachinesConfig::embedded()
                },
                Cluster::Remote(_) => MachinesConfig::real_cluster(),
            },
            containers.runtime(),
        )
        .await;
        machines.set_host_addresses(config.host_addresses.clone());
        if let (Cluster::Embedded(embedded), Some(kubelet)) = (&cluster, machines.kubelet()) {
            embedded.set_kubelet(Arc::new(kubelet_client::LabKubelets::new(kubelet)));
        }
        if let Cluster::Remote(remote) = &cluster {
            remote::serve_logs(remote, &machines, &config.clock).await;
        }
        let ignored = IgnoredSettings {
            configuration: kueue.ignores_presets,
            nodes: (!config.nodes_of_presets)
                .then_some("the nodes are those of --nodes or of the cluster"),
        };
        let machines = Arc::new(machines);
        let has_real_nodes = matches!(cluster, Cluster::Remote(_)) || config.nodes.pools.is_empty();
        let nodes = settings.nodes.as_ref().filter(|_| config.nodes_of_presets);
        let nodes = NodePoolSources::new(&machines, config.nodes, nodes.and_then(read_pools));
        let nodes_exist = nodes.start().await;
        if let Some(file) = config.nodes_file {
            node_pools_reloader::watch_file(&context, &nodes, file);
        }
        let (base, base_text, start_text) =
            (kueue.base.clone(), kueue.base_text(), kueue.start_text());
        let applied_settings = kueue.applied_settings(&settings);
        let election = kueue.config.configuration.leader_election.clone();
        let (election, elects) = (election.unwrap_or_default(), config.external_clients);
        let (controller, instances) = match controller {
            Some(controller) => (Some(CurrentController::new(controller)), None),
            None if !runs_kueue => (None, None),
            None => {
                let (config, gates) = (kueue.config, kueue.gates);
                let instances =
                    ControllerInstances::start(&context, config, gates, &machines, elects).await;
                (Some(instances.current().clone()), Some(instances))
            }
        };
        if let (Cluster::Embedded(embedded), Some(controller)) = (&cluster, &controller) {
            embedded.add_admission(Arc::new(JobWebhooksPlugin::of_current(controller)));
            let visibility = VisibilityServer::new(controller);
            embedded.add_aggregated_api(&(Arc::new(visibility) as Arc<dyn AggregatedApi>));
            let explanations = ExplanationServer::new(controller);
            embedded.add_aggregated_api(&(Arc::new(explanations) as Arc<dyn AggregatedApi>));
        }
        let rollout = instances
            .clone()
            .filter(|_| ignored.configuration.is_none());
        let rollout = rollout.map(|instances| ConfigurationRollout::new(&context, instances));
        let preset_workers = PresetWorkers {
            fixed_number: workers.fixed_number(&config.role),
            workers: workers.clone(),
            manager: client.clone(),
        };
        let lab = PresetLabSettings::new(
            rollout,
            controller.clone(),
            nodes.with_real_nodes(has_real_nodes.then(|| client.clone())),
            ignored,
            preset_workers,
            base_text,
            start_text,
        );
        let presets = PresetsConfig {
            folder: config.presets,
            active: config.preset,
            active_must_be_valid: config.preset_must_be_valid,
            watch: config.watch,
            lists_all: config.external_clients,
            base,
            lab: Some(Arc::new(lab)),
            applied_settings,
            review: config.review,
            adapt: config.role.worker_name().map(|_| without_multikueue as _),
            force_conflicts: config.force_conflicts,
            snapshot: config.snapshot.as_ref().map(|s| s.presets.clone()),
        };
        let started = async {
            if let Some(instances) = &instances {
                let configuration = InstalledConfiguration {
                    text: &kueue.source,
                    base: &kueue.base_source,
                };
                match cluster.is_restored() {
                    true if config.snapshot.is_some() => {}
                    true => {
                        let is_given = kueue.is_given;
                        kueue_manager::install_missing(&client, configuration, is_given).await?;
                    }
                    false => kueue_manager::install(&client, configuration).await?,
                }
                // Before the first Pod, and before other controllers can connect.
                if elects {
                    instances.reserve_lease(&context, election).await;
                }
                let processes =
                    ManagerControlPlane::new(&context, instances.clone(), &kueue.source);
                machines.set_control_plane(Arc::new(processes));
            }
            if !workers.is_empty() {
                workers.connect(&client).await?;
            }
            let presets = Presets::start(client.clone(), config.clock.clone(), presets).await?;
            // A task that panics has logged it, and is retried as the nodes' reconciliation.
            let _ = nodes_exist.await;
            if config.snapshot.is_none() {
                machines.create_service_accounts().await;
            }
            if config.port.is_some() {
                cluster.open().await?;
            }
            Ok::<_, LabError>(presets)
        };
        let presets = match started.await {
            Ok(presets) => presets,
            Err(error) => {
                context.tasks.shutdown().await;
                if let Some(instances) = instances {
                    instances.shutdown().await;
                }
                machines.shutdown().await;
                cluster.close().await;
                cluster.close_storage();
                return Err(error);
            }
        };
        let presets = Arc::new(presets);
        let is_embedded = matches!(cluster, Cluster::Embedded(_));
        let controllers = LabControllers {
            has_access: instances.is_some() && config.external_clients,
            rotation,
            managed_jobs: is_embedded,
            lab_kinds: is_embedded && config.external_clients,
        };
        if let Some(operator) = operator {
            remote::pause_when_not_leading(operator, &context, &machines, &presets);
        }
        let sky = SkyEnv::new(cluster.name());
        let jobs = ManagedJobs::new(client, config.clock, config.entropy, sky);
        if is_embedded {
            containers.serve_managed_jobs(&jobs);
        }
        Ok(Self {
            jobs,
            presets,
            context,
            machines,
            controller,
            instances,
            operator: None,
            workers: workers.clone(),
            starts_from_snapshots: false,
            has_controllers: config.controllers,
            controllers: config.controllers.then_some(controllers),
            cluster,
        })
    }

    /// Starts the controllers that a client does not wait for, once: those of kube-controller-manager, the
    /// heartbeats of nodes, managed jobs and the lab's kinds, and creates the Services and roles of Kueue. Their
    /// informers and lists compete with the first requests for the processors.
    pub fn start_controllers(&mut self) {
        let Some(controllers) = self.controllers.take() else {
            return;
        };
        self.machines.start_controller_manager();
        if let Some(pem) = self.cluster.authority() {
            self.machines.set_root_ca(pem);
        }
        if controllers.has_access {
            kueue_manager::create_access(&self.context, controllers.rotation);
        }
        if controllers.managed_jobs {
            kueue_lab_skypilot::jobs::serve(&self.context, &self.jobs);
        }
        if controllers.lab_kinds {
            lab_kinds::serve(&self.context, &self.presets);
        }
    }

    /// Whether controllers run, or will when they are started.
    pub fn has_controllers(&self) -> bool {
        self.has_controllers
    }

    /// The names of the embedded worker clusters, and clients of them with full permissions.
    pub fn worker_clients(&self) -> Vec<(String, Client)> {
        self.workers.worker_clients()
    }

    /// Receives each change of the embedded worker clusters.
    pub fn worker_changes(&self) -> watch::Receiver<()> {
        self.workers.changes()
    }

    /// Writes a kubeconfig that is readable by its owner only: with the contexts of the worker clusters,
    /// if there are any.
    ///
    /// # Errors
    /// The file cannot be written; a message.
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), String> {
        let written = self.cluster.write_kubeconfig(path);
        written.map_err(|error| error.to_string())?;
        let workers = self.workers.kubeconfigs();
        let (Some(own), false) = (self.cluster.kubeconfig(), workers.is_empty()) else {
            return Ok(());
        };
        let all = std::iter::once(own).chain(workers.iter().map(String::as_str));
        let merged = merged_kubeconfig(all)?;
        kueue_lab_host::write(path, merged).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// A client with full permissions.
    pub fn client(&self) -> Client {
        self.cluster.client()
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Lab time.
    pub fn clock(&self) -> &Clock {
        &self.context.clock
    }

    /// The context of tasks that end with the lab.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The presets.
    pub fn presets(&self) -> &Arc<Presets> {
        &self.presets
    }

    /// SkyPilot's managed jobs.
    pub fn jobs(&self) -> &ManagedJobs {
        &self.jobs
    }

    /// The nodes and the pods on them.
    pub fn machines(&self) -> &Arc<Machines> {
        &self.machines
    }

    /// The current instance of the admission controller, if one runs.
    pub fn controller(&self) -> Option<Controller> {
        self.controller.as_ref().map(CurrentController::get)
    }

    /// Whether labs of the same configuration can start from a snapshot.
    pub(crate) fn starts_from_snapshots(&self) -> bool {
        self.starts_from_snapshots
    }

    /// Observes whether the lab does something.
    pub fn activity(&self) -> LabActivity {
        let clock = self.context.clock.clone();
        LabActivity::new(clock, self.controller.clone(), &self.cluster)
    }

    /// Returns the current instance of the admission controller, at each call; `None` if none runs.
    pub fn current_controller(&self) -> Option<impl Fn() -> Controller + Send + Sync + use<>> {
        let controller = self.controller.clone()?;
        Some(move || controller.get())
    }

    /// Returns the quotas and limits that are used completely now, if the lab runs the controller.
    pub fn exhausted_limits(
        &self,
    ) -> Option<impl Fn() -> Vec<ExhaustedLimit> + Send + Sync + use<>> {
        let controller = self.current_controller()?;
        Some(move || controller().shared().engine().exhausted_limits())
    }

    /// Returns a function that makes all writes to an embedded cluster durable and rejects further ones, for a
    /// process that ends without [`stop`](Self::stop). Blocks for as long as the last writes take.
    pub fn storage_closer(&self) -> Box<dyn Fn() + Send> {
        self.cluster.storage_closer()
    }

    /// Stops all parts, the listener first and the storage last.
    pub async fn stop(self) {
        self.stop_until(std::future::pending()).await;
    }

    /// Like [`stop`](Self::stop), but closes the storage when `deadline` completes, whatever has not stopped until
    /// then: a task that does not yield, or one that waits for a thread. Returns whether all parts have stopped.
    pub async fn stop_until(mut self, deadline: impl Future<Output = ()>) -> bool {
        let mut deadline = std::pin::pin!(deadline);
        let tasks = self.context.tasks.clone();
        let stopped = async {
            self.cluster.close().await;
            self.jobs.shutdown().await;
            self.presets.shutdown().await;
            tasks.shutdown().await;
            if let Some(instances) = self.instances {
                instances.shutdown().await;
            }
            if let Some(operator) = self.operator {
                operator.stop().await;
            }
            self.machines.shutdown().await;
        };
        let has_stopped = tokio::select! {
            biased;
            () = stopped => true,
            () = &mut deadline => false,
        };
        self.cluster.close_storage();
        tokio::select! {
            biased;
            () = self.workers.stop() => has_stopped,
            () = deadline, if has_stopped => false,
        }
    }
}
