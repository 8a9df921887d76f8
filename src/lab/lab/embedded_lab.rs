//! [`EmbeddedLab`]: a lab on an embedded cluster.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::ca_bundle::CaBundle;
use crate::config::LabConfig;
use crate::containers::Containers;
use crate::embedded_cluster::embedded_cluster;
use crate::error::LabError;
use crate::explanation_server::ExplanationServer;
use crate::job_webhooks::JobWebhooksPlugin;
use crate::kueue_manager::{
    self, CertRotation, ConfigurationRollout, ControllerInstances, CurrentController,
    InstalledConfiguration, ManagerControlPlane,
};
use crate::lab_parts::LabParts;
use crate::lab_start::{ControlPlane, LabStart, unless_cancelled};
use crate::object_file::ObjectFile;
use crate::started_parts::StartedParts;
use crate::visibility_server::VisibilityServer;
use crate::{kubelet_client, kueue_crds, lab_kinds};
use kueue_lab_cluster::plugins::AggregatedApi;
use kueue_lab_cluster::{Cluster, EmbeddedCluster};
use kueue_lab_controller_runtime::{ComponentClients, Context};
use kueue_lab_machines::{Machines, MachinesConfig};

/// A lab on an embedded cluster.
pub(crate) struct EmbeddedLab {
    pub(crate) parts: LabParts,
    pub(crate) starts_from_snapshots: bool,
    /// Whether controllers run at all.
    pub(crate) has_controllers: bool,
    /// The controllers that start last, until then.
    controllers: Option<LateControllers>,
}

/// The controllers that start last.
struct LateControllers {
    /// The rotation of the certificate of Kueue's webhooks, if Kueue has Services, roles and webhook configurations.
    rotation: Option<CertRotation>,
    /// Whether the cluster serves the lab's kinds.
    lab_kinds: bool,
}

impl EmbeddedLab {
    /// Starts the worker clusters, the cluster and what runs on it. Cancelled by `stop` once the cluster runs.
    ///
    /// # Errors
    /// [`LabError`]; the parts in `started` run.
    pub(crate) async fn start(
        config: LabConfig,
        started: &StartedParts,
        stop: &CancellationToken,
    ) -> Result<Self, LabError> {
        if config.presets.active.is_some() && config.cluster.external_clients {
            kueue_crds::compile_rules();
        }
        let starts_from_snapshots = config.starts_from_snapshots();
        let has_controllers = config.components.controllers;
        let lab_kinds = config.cluster.external_clients;
        let mut start = LabStart::new(config, started)?;
        Box::pin(start_workers(&mut start)).await?;
        let (cluster, rotation) = Box::pin(start_cluster(&mut start)).await?;
        let parts = unless_cancelled(stop, Box::pin(start_parts(start, cluster))).await?;
        let controllers = LateControllers {
            rotation,
            lab_kinds,
        };
        Ok(Self {
            parts,
            starts_from_snapshots,
            has_controllers,
            controllers: has_controllers.then_some(controllers),
        })
    }

    /// Starts the controllers that a client does not wait for, once.
    pub(crate) fn start_controllers(&mut self) {
        let Some(controllers) = self.controllers.take() else {
            return;
        };
        let parts = &self.parts;
        parts.machines.start_controller_manager();
        if let Some(pem) = parts.cluster.authority() {
            parts.machines.set_root_ca(pem);
        }
        if let Some(rotation) = controllers.rotation {
            kueue_manager::create_access(&parts.context, rotation);
        }
        kueue_lab_skypilot::jobs::serve(&parts.context, &parts.jobs);
        if controllers.lab_kinds {
            lab_kinds::serve(&parts.context, &parts.presets);
            if let Some(clock) = &parts.clock {
                lab_kinds::serve_clock(&parts.context, clock);
            }
        }
    }
}

/// Whether the admission controller runs.
fn runs_kueue(config: &LabConfig) -> bool {
    config.components.controller && config.components.controllers
}

/// Starts the worker clusters of the configuration, or of the first preset.
async fn start_workers(start: &mut LabStart<'_>) -> Result<(), LabError> {
    let workers = start.workers.clone();
    let stopped = workers.clone();
    start.started.push(async move { stopped.stop().await });
    let first = workers.first(&start.config.cluster.role, &start.settings);
    workers.start(&first).await?;
    start.kueue.config.worker_clients = workers.clients();
    Ok(())
}

/// Starts the cluster, and generates the certificate of Kueue's webhooks before a definition is read.
async fn start_cluster(
    start: &mut LabStart<'_>,
) -> Result<(Arc<Cluster>, Option<CertRotation>), LabError> {
    let ca_bundle = CaBundle::default();
    let embedded = embedded_cluster(&mut start.config, &start.kueue.gates, &ca_bundle).await?;
    let client = embedded.client();
    let cluster = Arc::new(Cluster::Embedded(embedded));
    let closed = cluster.clone();
    start.started.push_always(move || closed.close_storage());
    let config = &start.config;
    let rotation = match runs_kueue(config) && config.cluster.external_clients {
        true => Some(CertRotation::new(client, &config.clock, ca_bundle).await?),
        false => None,
    };
    Ok((cluster, rotation))
}

/// Starts the machines, the controller and the presets of a cluster without listener.
async fn start_parts(mut start: LabStart<'_>, cluster: Arc<Cluster>) -> Result<LabParts, LabError> {
    let Cluster::Embedded(embedded) = &*cluster else {
        unreachable!("an embedded lab has an embedded cluster");
    };
    let clients = ComponentClients::new(embedded.client_factory());
    let context = start.context(&clients);
    let containers = Containers::default();
    let machines = machines_config(&start.config);
    let machines = start
        .start_machines(&context, clients, machines, &containers)
        .await;
    if let Some(kubelet) = machines.kubelet() {
        embedded.set_kubelet(Arc::new(kubelet_client::LabKubelets::new(kubelet)));
    }
    let nodes = start.start_nodes(&context, &machines).await;
    let instances = match runs_kueue(&start.config) {
        true => Some(start_kueue(&start, &context, &machines).await),
        false => None,
    };
    let controller = instances
        .as_ref()
        .map(ControllerInstances::current)
        .cloned();
    if let Some(controller) = &controller {
        serve_controller(embedded, controller);
    }
    if let Some(instances) = &instances {
        install_kueue(&start, &context, &machines, &cluster, instances).await?;
    }
    if !start.workers.is_empty() {
        start.workers.connect(&cluster.client()).await?;
    }
    let takes_configuration = start.ignored_settings().configuration.is_none();
    let rollout = instances.filter(|_| takes_configuration);
    let control = ControlPlane {
        rollout: rollout.map(|instances| ConfigurationRollout::new(&context, instances)),
        cluster: cluster.clone(),
        context,
        machines,
        nodes,
        controller,
    };
    let parts = Box::pin(start.start_presets(control)).await?;
    containers.serve_managed_jobs(&parts.jobs);
    parts.workers.follow(&parts.context, &parts.presets);
    Ok(parts)
}

/// The machines of an embedded cluster.
fn machines_config(config: &LabConfig) -> MachinesConfig {
    if !config.components.controllers {
        return MachinesConfig::disabled();
    }
    let cluster = &config.cluster;
    MachinesConfig {
        operators: config.components.operators,
        imported_nodes: cluster.is_imported
            || cluster.from.as_ref().is_some_and(ObjectFile::is_import),
        sparse_heartbeats: !cluster.external_clients,
        ..MachinesConfig::embedded()
    }
}

/// Starts the first instance of the controller.
async fn start_kueue(
    start: &LabStart<'_>,
    context: &Context,
    machines: &Arc<Machines>,
) -> ControllerInstances {
    let (config, gates) = (start.kueue.config.clone(), start.kueue.gates.clone());
    let elects = start.config.cluster.external_clients;
    let instances = ControllerInstances::start(context, config, gates, machines, elects).await;
    let (tasks, stopped) = (context.tasks.clone(), instances.clone());
    start.started.push(async move {
        // The tasks of the lab start instances.
        tasks.shutdown().await;
        stopped.shutdown().await;
    });
    instances
}

/// Serves the webhooks of jobs, the visibility API and the explanations of the current controller.
fn serve_controller(cluster: &EmbeddedCluster, controller: &CurrentController) {
    cluster.add_admission(Arc::new(JobWebhooksPlugin::of_current(controller)));
    let visibility = VisibilityServer::new(controller);
    cluster.add_aggregated_api(&(Arc::new(visibility) as Arc<dyn AggregatedApi>));
    let explanations = ExplanationServer::new(controller);
    cluster.add_aggregated_api(&(Arc::new(explanations) as Arc<dyn AggregatedApi>));
}

/// Creates the objects of Kueue's installation, of which the cluster runs the Pods.
async fn install_kueue(
    start: &LabStart<'_>,
    context: &Context,
    machines: &Machines,
    cluster: &Cluster,
    instances: &ControllerInstances,
) -> Result<(), LabError> {
    let (kueue, client) = (&start.kueue, cluster.client());
    let configuration = InstalledConfiguration {
        text: &kueue.source,
        base: &kueue.base_source,
    };
    match cluster.is_restored() {
        true if start.config.cluster.snapshot.is_some() => {}
        true => {
            kueue_manager::install_missing(&client, configuration, kueue.is_given).await?;
        }
        false => kueue_manager::install(&client, configuration).await?,
    }
    // Before the first Pod, and before other controllers can connect.
    if start.config.cluster.external_clients {
        let election = kueue.config.configuration.leader_election.clone();
        let election = election.unwrap_or_default();
        instances.reserve_lease(context, election).await;
    }
    let processes = ManagerControlPlane::new(context, instances.clone(), &kueue.source);
    machines.set_control_plane(Arc::new(processes));
    Ok(())
}
