//! [`WorkerClusters`]: the embedded worker clusters of a manager.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kube::Client;
use kueue_lab_api::v1beta2::MultiKueueCluster;
use kueue_lab_controller::WorkerClients;
use kueue_lab_presets::{PresetSettings, Presets, read_workers};
use kueue_lab_runtime::{Api, Change, Context, Informer};

use crate::cluster_role::ClusterRole;
use crate::config::LabConfig;
use crate::error::LabError;
use crate::kueue_manager;
use crate::lab::Lab;
use crate::workers::{
    EmbeddedWorker, EmbeddedWorkerClients, WorkerNetwork, kubeconfig_without_listener,
    manager_objects,
};

/// An annotation of MultiKueueClusters: with the value `down`, the manager does not reach the cluster.
const NETWORK_ANNOTATION: &str = "kueue-lab.dev/network";

/// An embedded worker cluster.
pub struct WorkerCluster {
    name: String,
    lab: Lab,
    kubeconfig: String,
    network: WorkerNetwork,
}

impl WorkerCluster {
    /// The name of the cluster and its MultiKueueCluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cluster.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }
}

/// The embedded worker clusters of a manager.
#[derive(Default)]
pub(crate) struct WorkerClusters(Vec<WorkerCluster>);

impl WorkerClusters {
    /// The role of a cluster: that of the configuration, or manager of the workers that `clusters.yaml` of
    /// the first preset names. An invalid file is reported when the preset is applied.
    pub(crate) fn role(config: &LabConfig, settings: &PresetSettings) -> ClusterRole {
        let role = config.role.clone();
        if role != ClusterRole::Single || config.remote.is_some() || !config.controller {
            return role;
        }
        let workers = settings.clusters.as_ref().map(read_workers);
        match workers {
            Some(Ok(workers)) => ClusterRole::Manager { workers },
            _ => role,
        }
    }

    /// The configurations of the worker clusters of a manager; none for other roles.
    pub(crate) fn configs(config: &LabConfig) -> Vec<LabConfig> {
        let ClusterRole::Manager { workers } = config.role else {
            return Vec::new();
        };
        let names = (1..=workers).map(|number| format!("worker{number}"));
        names.map(|name| worker_config(config, &name)).collect()
    }

    /// Starts worker clusters.
    ///
    /// # Errors
    /// One of them does not start; the others are stopped again.
    pub(crate) async fn start(configs: Vec<LabConfig>) -> Result<Self, LabError> {
        let mut workers = Self::default();
        for config in configs {
            let name = config.role.worker_name().unwrap_or_default().to_owned();
            match start_lab(config).await {
                Ok(lab) => workers.0.push(WorkerCluster {
                    kubeconfig: match lab.cluster().kubeconfig() {
                        Some(text) => text.to_owned(),
                        None => kubeconfig_without_listener(&name),
                    },
                    network: WorkerNetwork::new(),
                    name,
                    lab,
                }),
                Err(error) => {
                    workers.stop().await;
                    return Err(error);
                }
            }
        }
        Ok(workers)
    }

    /// The workers.
    pub(crate) fn as_slice(&self) -> &[WorkerCluster] {
        &self.0
    }

    /// Their kubeconfigs.
    pub(crate) fn kubeconfigs(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|worker| worker.kubeconfig.as_str())
    }

    /// Clients of the workers for the controller of the manager; None without workers.
    pub(crate) fn clients(&self) -> Option<Arc<dyn WorkerClients>> {
        if self.0.is_empty() {
            return None;
        }
        let workers = self.0.iter().filter_map(|worker| {
            let client = worker.network.client(worker.lab.client());
            EmbeddedWorker::new(&worker.kubeconfig, client)
        });
        Some(Arc::new(EmbeddedWorkerClients(workers.collect())))
    }

    /// Creates the objects with which the manager connects to the workers.
    ///
    /// # Errors
    /// The API server of the manager rejects one.
    pub(crate) async fn connect(&self, manager: &Client) -> Result<(), LabError> {
        let workers = self.0.iter();
        let workers = workers.map(|w| (w.name.as_str(), w.kubeconfig.as_str()));
        kueue_manager::apply_objects(manager, manager_objects(workers)).await?;
        Ok(())
    }

    /// Applies the active preset of the manager to the workers when it changes, and cuts connections
    /// as annotations of MultiKueueClusters say.
    pub(crate) fn follow(&self, context: &Context, presets: &Presets) {
        if self.0.is_empty() {
            return;
        }
        let workers: Vec<Arc<Presets>> = self
            .0
            .iter()
            .map(|worker| worker.lab.presets().clone())
            .collect();
        let mut changes = presets.changes();
        context.tasks.spawn("worker-presets", async move {
            while changes.changed().await.is_ok() {
                let active = changes.borrow_and_update().active.clone();
                for worker in &workers {
                    switch_to(worker, active.as_deref()).await;
                }
            }
        });
        self.follow_annotations(context);
    }

    fn follow_annotations(&self, context: &Context) {
        let networks = self.0.iter().map(|w| (w.name.clone(), w.network.clone()));
        let networks: Vec<(String, WorkerNetwork)> = networks.collect();
        let clusters = Api::<MultiKueueCluster>::all(context.client.clone());
        let clusters = Informer::builder(clusters).start(context);
        clusters.add_event_handler(move |change| {
            let metadata = &change.object().metadata;
            let annotations = metadata.annotations.as_ref();
            let network = annotations.and_then(|map| map.get(NETWORK_ANNOTATION));
            let down = network.is_some_and(|value| value == "down");
            let connected = !down || matches!(change, Change::Deleted(_));
            for (name, network) in &networks {
                if metadata.name.as_deref() == Some(name) && network.set_connected(connected) {
                    let state = if connected { "restored" } else { "cut" };
                    tracing::info!("the connection to {name} is {state}");
                }
            }
        });
    }

    /// Stops the workers.
    pub(crate) async fn stop(self) {
        for worker in self.0 {
            stop_lab(worker.lab).await;
        }
    }
}

async fn switch_to(presets: &Presets, active: Option<&str>) {
    let Some(name) = active.filter(|name| presets.state().active.as_deref() != Some(name)) else {
        return;
    };
    for finding in presets.switch(name).await.err().unwrap_or_default() {
        tracing::warn!("worker cluster: {finding}");
    }
}

/// The configuration of a worker: that of the manager without workers, with a port of its own.
fn worker_config(config: &LabConfig, name: &str) -> LabConfig {
    LabConfig {
        remote: None,
        clock: config.clock.clone(),
        entropy: config.entropy.clone(),
        presets: config.presets.clone(),
        preset: config.preset.clone(),
        preset_must_be_valid: config.preset_must_be_valid,
        watch: config.watch,
        review: None,
        port: config.port.map(|_| 0),
        request_limits: config.request_limits,
        shutdown_delay: config.shutdown_delay,
        data: None,
        from: None,
        nodes: config.nodes.clone(),
        nodes_file: config.nodes_file.clone(),
        nodes_of_presets: config.nodes_of_presets,
        kueue: config.kueue.clone(),
        operators: config.operators,
        controller: true,
        external_clients: config.external_clients,
        role: ClusterRole::Worker {
            name: name.to_owned(),
        },
    }
}

/// Starts a worker. Boxed, as a lab starts its workers.
fn start_lab(config: LabConfig) -> LocalBoxFuture<'static, Result<Lab, LabError>> {
    async move { Lab::start(config).await }.boxed_local()
}

fn stop_lab(lab: Lab) -> LocalBoxFuture<'static, ()> {
    async move { lab.stop().await }.boxed_local()
}
