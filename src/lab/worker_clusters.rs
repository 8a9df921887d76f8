//! [`WorkerClusters`]: the embedded worker clusters of a manager, whose number `clusters.yaml` changes.

use std::sync::Arc;

use kube::Client;
use kueue_lab_api::v1beta2::MultiKueueCluster;
use kueue_lab_controller::WorkerClients;
use kueue_lab_presets::{PresetSettings, Presets, SourceFile, read_workers};
use kueue_lab_runtime::{Api, Change, Context, Informer};
use parking_lot::RwLock;
use tokio::sync::{Mutex, watch};

use crate::cluster_role::ClusterRole;
use crate::config::LabConfig;
use crate::error::LabError;
use crate::kueue_manager;
use crate::worker_cluster::{WorkerCluster, worker_config};
use crate::workers::{EmbeddedWorkerClients, manager_objects, worker_objects};

/// An annotation of MultiKueueClusters: with the value `down`, the manager does not reach the cluster.
const NETWORK_ANNOTATION: &str = "kueue-lab.dev/network";

/// The embedded worker clusters of a manager. Clones share them.
#[derive(Clone)]
pub(crate) struct WorkerClusters(Arc<Shared>);

struct Shared {
    /// The configuration of a worker without a name; `None` for a cluster that has no workers, ever.
    template: Option<LabConfig>,
    /// Whether the file of a preset says how many there are.
    of_presets: bool,
    running: RwLock<Vec<WorkerCluster>>,
    clients: EmbeddedWorkerClients,
    /// Held while workers start or stop.
    changing: Mutex<()>,
    changes: watch::Sender<()>,
}

impl WorkerClusters {
    /// No worker clusters yet, for a lab with this configuration.
    pub(crate) fn new(config: &LabConfig) -> Self {
        let is_embedded = config.remote.is_none() && config.controller;
        let may_have_workers = is_embedded && config.role.worker_name().is_none();
        Self(Arc::new(Shared {
            template: may_have_workers.then(|| worker_config(config, "")),
            of_presets: may_have_workers && config.role == ClusterRole::Single,
            running: RwLock::default(),
            clients: EmbeddedWorkerClients::default(),
            changing: Mutex::default(),
            changes: watch::Sender::default(),
        }))
    }

    /// The number of workers at the start: that of the configuration, or of `clusters.yaml` of the first
    /// preset. An invalid file is reported when the preset is applied.
    pub(crate) fn first_number(&self, config: &LabConfig, settings: &PresetSettings) -> usize {
        match (&config.role, &settings.clusters) {
            (ClusterRole::Manager { workers }, _) => *workers,
            (_, Some(file)) if self.0.of_presets => read_workers(file).unwrap_or_default(),
            _ => 0,
        }
    }

    /// The number that no preset changes; `None` if presets change it or the cluster is itself a worker.
    pub(crate) fn fixed_number(&self, role: &ClusterRole) -> Option<usize> {
        let is_fixed = !self.0.of_presets && role.worker_name().is_none();
        is_fixed.then(|| self.0.running.read().len())
    }

    /// Starts the first workers, with the first preset.
    ///
    /// # Errors
    /// One of them does not start; those before it run.
    pub(crate) async fn start(&self, number: usize) -> Result<(), LabError> {
        self.start_until(number, |_| {}).await
    }

    /// Starts workers until there are `number`.
    async fn start_until(
        &self,
        number: usize,
        adapt: impl Fn(&mut LabConfig),
    ) -> Result<(), LabError> {
        let Some(template) = &self.0.template else {
            return Ok(());
        };
        let running = self.0.running.read().len();
        for next in running + 1..=number {
            let mut config = worker_config(template, &format!("worker{next}"));
            adapt(&mut config);
            let worker = WorkerCluster::start(config).await?;
            self.0.clients.add(worker.embedded_worker());
            self.0.running.write().push(worker);
        }
        Ok(())
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.running.read().is_empty()
    }

    /// Their names and clients.
    pub(crate) fn worker_clients(&self) -> Vec<(String, Client)> {
        let running = self.0.running.read();
        let clients = running.iter().map(|w| (w.name.clone(), w.lab.client()));
        clients.collect()
    }

    /// Their kubeconfigs.
    pub(crate) fn kubeconfigs(&self) -> Vec<String> {
        let running = self.0.running.read();
        running.iter().map(|w| w.kubeconfig.clone()).collect()
    }

    /// Receives each change of the workers.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Clients of the workers for the controller of the manager.
    pub(crate) fn clients(&self) -> Arc<dyn WorkerClients> {
        Arc::new(self.0.clients.clone())
    }

    /// Creates the objects with which the manager connects to the workers.
    ///
    /// # Errors
    /// The API server of the manager rejects one.
    pub(crate) async fn connect(&self, manager: &Client) -> Result<(), kube::Error> {
        let workers: Vec<(String, String)> = {
            let running = self.0.running.read();
            let workers = running
                .iter()
                .map(|w| (w.name.clone(), w.kubeconfig.clone()));
            workers.collect()
        };
        let workers = workers.iter().map(|(name, kube)| (&**name, &**kube));
        kueue_manager::apply_objects(manager, manager_objects(workers)).await
    }

    /// Starts and stops workers for the `clusters.yaml` of a preset, none without one. Returns one line
    /// for each change. An invalid file changes nothing.
    pub(crate) async fn apply(&self, file: Option<&SourceFile>, manager: &Client) -> Vec<String> {
        let wanted = file.map_or(Ok(0), read_workers);
        let (true, Ok(wanted)) = (self.0.of_presets, wanted) else {
            return Vec::new();
        };
        let _changing = self.0.changing.lock().await;
        let before = self.0.running.read().len();
        let mut lines = Vec::new();
        if wanted < before {
            lines.extend(self.stop_after(wanted, manager).await.err());
        // The preset may be another than the first; `follow` switches to it.
        } else if let Err(error) = self
            .start_until(wanted, |config| config.preset = None)
            .await
        {
            lines.push(format!("a worker cluster does not start: {error}"));
        }
        let after = self.0.running.read().len();
        if after == before {
            return lines;
        }
        if after > before
            && let Err(error) = self.connect(manager).await
        {
            lines.push(format!(
                "the manager is not connected to the worker clusters: {error}"
            ));
        }
        self.0.changes.send_replace(());
        lines.push(format!("worker clusters: {after}, {before} before"));
        lines
    }

    /// Disconnects and stops all workers after the first `number`; the error is a message.
    async fn stop_after(&self, number: usize, manager: &Client) -> Result<(), String> {
        let stopped = self.0.running.write().split_off(number);
        let disconnected = match number {
            0 => Ok(()),
            _ => self.connect(manager).await,
        };
        let names = stopped.iter().map(|worker| worker.name.as_str());
        let removed = worker_objects(names, number == 0);
        let removed = match disconnected {
            Ok(()) => kueue_manager::delete_objects(manager, removed).await,
            Err(error) => Err(error),
        };
        for worker in stopped {
            self.0.clients.remove(worker.embedded_worker());
            worker.stop().await;
        }
        removed.map_err(|error| format!("objects of stopped worker clusters stay: {error}"))
    }

    /// Applies the active preset of the manager to the workers when it changes, and cuts connections
    /// as annotations of MultiKueueClusters say.
    pub(crate) fn follow(&self, context: &Context, presets: &Presets) {
        if self.0.template.is_none() {
            return;
        }
        let workers = self.clone();
        let mut changes = presets.changes();
        let mut numbers = self.changes();
        let manager = context.clone();
        context.tasks.spawn("worker-presets", async move {
            let mut follows_annotations = false;
            loop {
                if !follows_annotations && !workers.is_empty() {
                    workers.follow_annotations(&manager);
                    follows_annotations = true;
                }
                let changed = tokio::select! {
                    changed = changes.changed() => changed.is_ok(),
                    changed = numbers.changed() => changed.is_ok(),
                };
                if !changed {
                    return;
                }
                let active = changes.borrow_and_update().active.clone();
                for presets in workers.presets() {
                    switch_to(&presets, active.as_deref()).await;
                }
            }
        });
    }

    fn presets(&self) -> Vec<Arc<Presets>> {
        let running = self.0.running.read();
        running.iter().map(|w| w.lab.presets().clone()).collect()
    }

    fn follow_annotations(&self, context: &Context) {
        let workers = self.clone();
        let clusters = Api::<MultiKueueCluster>::all(context.client.clone());
        let clusters = Informer::builder(clusters).start(context);
        clusters.add_event_handler(move |change| {
            let metadata = &change.object().metadata;
            let annotations = metadata.annotations.as_ref();
            let network = annotations.and_then(|map| map.get(NETWORK_ANNOTATION));
            let down = network.is_some_and(|value| value == "down");
            let connected = !down || matches!(change, Change::Deleted(_));
            for worker in workers.0.running.read().iter() {
                let name = &worker.name;
                let is_named = metadata.name.as_deref() == Some(name);
                if is_named && worker.network.set_connected(connected) {
                    let state = if connected { "restored" } else { "cut" };
                    tracing::info!("the connection to {name} is {state}");
                }
            }
        });
    }

    /// Stops the workers.
    pub(crate) async fn stop(&self) {
        let stopped = std::mem::take(&mut *self.0.running.write());
        for worker in stopped {
            worker.stop().await;
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
