//! The running lab: a cluster, its machines, the controller and the presets put together; `up`,
//! demos, tests and replays all start one of these.
//!
//! The order of starting is what keeps parts from racing: policy and kinds are in the API server
//! before any client is, the controller and the machines watch before presets bring queues, and
//! clients outside are let in last.

mod file_source;
mod job_webhooks;
mod kubelet_logs;
mod kueue_crds;
mod kueue_webhooks;
mod node_pools_reloader;
mod paths;
mod preflight;
mod remote;
mod shipped;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::Client;
use tokio_util::sync::CancellationToken;

pub use file_source::FileSource;
pub use job_webhooks::JobWebhooksPlugin;
pub use paths::{LabPaths, PresetsFolder, state_dir};
pub use preflight::{PreflightError, UpstreamKueue, find_upstream, preflight};
pub use remote::IDENTITY_PREFIX;
pub use shipped::{LAB_FILES, PRESETS};

use kueue_lab_api::config::FeatureGates;
pub use kueue_lab_api::config::LoadedConfiguration as KueueConfig;
use kueue_lab_clock::Clock;
pub use kueue_lab_cluster::local::{
    self, ClusterTool, DeleteOutcome, HostAccess, LocalCluster, LocalClusterError,
};
pub use kueue_lab_cluster::{
    Cluster, ClusterError, KubeconfigContext, RemoteCluster, context_names, error_chain, in_cluster,
};
use kueue_lab_cluster::{EmbeddedCluster, EmbeddedConfig};
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_entropy::Entropy;
pub use kueue_lab_machines::nodes::{NodePools, RemovedNodes, remove_all as remove_nodes};
use kueue_lab_machines::{Machines, MachinesConfig};
use kueue_lab_operator::{Operator, OperatorError};
pub use kueue_lab_presets::remove_preset_objects as clear_presets;
use kueue_lab_presets::{self as presets, Finding, Presets, PresetsConfig, StartError};
use kueue_lab_runtime::Context;
use kueue_lab_skypilot::SkyEnv;
use kueue_lab_skypilot::jobs::ManagedJobs;

/// The preset a lab starts with when nobody names one: that of the first demo.
pub const DEFAULT_PRESET: &str = "skypilot-priority";

/// What a lab is made of.
pub struct LabConfig {
    /// The cluster to run on; without one, an embedded cluster.
    pub remote: Option<RemoteCluster>,
    /// Lab time.
    pub clock: Clock,
    /// Chance.
    pub entropy: Entropy,
    /// The presets folder.
    pub presets: PathBuf,
    /// The preset to start with.
    pub preset: String,
    /// Whether changes of preset files are followed.
    pub watch: bool,
    /// Loopback port for clients outside, 0 for any; `None` lets nobody in. Of no effect on a
    /// cluster that somebody else runs.
    pub port: Option<u16>,
    /// The nodes.
    pub nodes: NodePools,
    /// The file of the nodes, where its changes are to be followed.
    pub nodes_file: Option<PathBuf>,
    /// Kueue's configuration; without one, the lab's own.
    pub kueue: Option<KueueConfig>,
}

/// Why a lab did not start.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The presets.
    #[error("{0}")]
    Presets(#[from] StartError),
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The cluster is not fit for a lab.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// What the controller needs cannot be put into the cluster.
    #[error(transparent)]
    Operator(#[from] Arc<OperatorError>),
    /// It was told to stop before it was ready.
    #[error(
        "interrupted before the lab was ready; `up` can be run again, and `down` and `uninstall` take away what is there by now"
    )]
    Interrupted,
}

impl LabError {
    /// Whether what was asked for is wrong, rather than what happened.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Presets(StartError::Unreachable(_)) => false,
            Self::Presets(_) => true,
            Self::Cluster(error) => error.is_usage(),
            Self::Preflight(error) => error.is_usage(),
            Self::Operator(error) => error.is_usage(),
            Self::Interrupted => false,
        }
    }
}

/// A running lab.
pub struct Lab {
    cluster: Cluster,
    context: Context,
    machines: Arc<Machines>,
    controller: Controller,
    /// Who runs the controller on a cluster that is not ours.
    operator: Option<Operator>,
    presets: Arc<Presets>,
    jobs: ManagedJobs,
}

impl Lab {
    /// Starts everything; returns when the first preset is in force and clients are let in.
    ///
    /// # Errors
    /// Something that was asked for cannot be had; nothing is left running then.
    pub async fn start(config: LabConfig) -> Result<Self, LabError> {
        Self::start_cancellable(config, &CancellationToken::new()).await
    }

    /// The same, unless told to stop meanwhile: it may wait for long where another lab leads.
    ///
    /// # Errors
    /// As [`start`](Self::start), and [`LabError::Interrupted`]; what it wrote stays, but for webhooks
    /// that nobody would answer.
    pub async fn start_cancellable(
        mut config: LabConfig,
        stop: &CancellationToken,
    ) -> Result<Self, LabError> {
        let kueue = config.kueue.take();
        let kueue = kueue.map(ControllerConfig::from).unwrap_or_default();
        let gates = kueue.gates;
        if config.remote.is_some() {
            // A mistake in the files must not leave half an installation behind.
            validate_preset(&config.presets, &config.preset, &gates)?;
        }
        let mut led = None;
        let cluster = match &config.remote {
            None => Cluster::Embedded(EmbeddedCluster::new(EmbeddedConfig {
                clock: config.clock.clone(),
                entropy: config.entropy.clone(),
                port: config.port.unwrap_or_default(),
                admission: vec![Arc::new(kueue_webhooks::KueueWebhooks::new(gates))],
                converter: Some(Arc::new(kueue_webhooks::KueueConversion)),
                kinds: kueue_crds::definitions(),
            })),
            Some(remote) => {
                let lead =
                    remote::start_leading(remote, &config.clock, &config.entropy, &kueue, stop);
                led = Some(lead.await?);
                Cluster::Remote(Box::new(remote.clone()))
            }
        };
        let (operator, controller) = match led {
            Some((operator, controller)) => (Some(operator), Some(controller)),
            None => (None, None),
        };
        let raised = tokio::select! {
            raised = Self::start_components(config, kueue, cluster, operator.as_ref(), controller) => raised,
            () = stop.cancelled() => Err(LabError::Interrupted),
        };
        match raised {
            Ok(lab) => Ok(Self { operator, ..lab }),
            Err(error) => {
                if let Some(operator) = operator {
                    operator.stop().await;
                }
                Err(error)
            }
        }
    }

    /// Starts everything around a controller that leads, or with one of its own.
    async fn start_components(
        config: LabConfig,
        kueue: ControllerConfig,
        mut cluster: Cluster,
        operator: Option<&Operator>,
        controller: Option<Controller>,
    ) -> Result<Self, LabError> {
        let gates = kueue.gates;
        let client = cluster.client();
        let context = Context::new(client.clone(), config.clock.clone(), config.entropy.clone());
        let machines = Machines::start(
            client.clone(),
            config.clock.clone(),
            config.entropy.clone(),
            match cluster {
                Cluster::Embedded(_) => MachinesConfig::embedded(),
                Cluster::Remote(_) => MachinesConfig::real_cluster(),
            },
        )
        .await;
        if let Cluster::Embedded(embedded) = &cluster {
            embedded.set_kubelet(Arc::new(kubelet_logs::KubeletLogs::new(machines.logs())));
        }
        if let Cluster::Remote(remote) = &cluster {
            remote::serve_logs(remote, &machines, &config.clock).await;
        }
        machines.apply_pools(config.nodes).await;
        let machines = Arc::new(machines);
        if let Some(file) = config.nodes_file {
            node_pools_reloader::watch_file(&context, &machines, file);
        }
        let controller = match controller {
            Some(controller) => controller,
            None => Controller::start(&context, kueue).await,
        };
        if let Cluster::Embedded(embedded) = &cluster {
            embedded.add_admission(Arc::new(JobWebhooksPlugin::new(controller.webhooks())));
        }
        let presets = PresetsConfig {
            folder: config.presets,
            active: config.preset,
            watch: config.watch,
            gates,
        };
        let started = async {
            let presets = Presets::start(client.clone(), config.clock.clone(), presets).await?;
            if config.port.is_some() {
                cluster.open().await?;
                cluster
                    .authority()
                    .into_iter()
                    .for_each(|pem| machines.set_root_ca(pem));
            }
            Ok::<_, LabError>(presets)
        };
        let presets = match started.await {
            Ok(presets) => presets,
            Err(error) => {
                context.tasks.shutdown().await;
                machines.shutdown().await;
                cluster.close().await;
                return Err(error);
            }
        };
        let presets = Arc::new(presets);
        if let Some(operator) = operator {
            remote::pause_when_not_leading(operator, &context, &machines, &presets);
        }
        let sky = SkyEnv::new(cluster.name());
        Ok(Self {
            jobs: ManagedJobs::new(client, config.clock, config.entropy, sky),
            presets,
            context,
            machines,
            controller,
            operator: None,
            cluster,
        })
    }

    /// A client with all rights.
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

    /// The presets.
    pub fn presets(&self) -> &Arc<Presets> {
        &self.presets
    }

    /// SkyPilot's managed jobs.
    pub fn jobs(&self) -> &ManagedJobs {
        &self.jobs
    }

    /// The nodes and what runs on them.
    pub fn machines(&self) -> &Arc<Machines> {
        &self.machines
    }

    /// The admission controller.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Stops everything, clients first.
    pub async fn stop(self) {
        self.cluster.close().await;
        self.jobs.shutdown().await;
        self.presets.shutdown().await;
        self.context.tasks.shutdown().await;
        if let Some(operator) = self.operator {
            operator.stop().await;
        }
        self.machines.shutdown().await;
    }
}

/// Refuses a preset that has mistakes in it.
fn validate_preset(folder: &Path, name: &str, gates: &FeatureGates) -> Result<(), StartError> {
    let source = presets::read(folder, name)?;
    let findings = presets::parse(&source.files, gates).findings;
    let errors: Vec<_> = findings.into_iter().filter(Finding::is_error).collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(StartError::Invalid(errors)),
    }
}
