//! [`WorkerClusters`]: the worker clusters of a manager: embedded ones, and others that `clusters.yaml` names.

use std::sync::Arc;

use kube::Client;
use kueue_lab_api::v1beta2::MultiKueueCluster;
use kueue_lab_controller::WorkerClients;
use kueue_lab_controller_runtime::{Api, Change, Context, Informer};
use kueue_lab_host::HostAddresses;
use kueue_lab_presets::{
    ExistingCluster, Finding, PresetSettings, Presets, SourceFile, WorkersOfPreset, read_workers,
};
use parking_lot::RwLock;
use tokio::sync::{Mutex, watch};

use crate::cluster_role::ClusterRole;
use crate::config::LabConfig;
use crate::error::LabError;
use crate::existing_worker::ExistingWorker;
use crate::kueue_manager;
use crate::worker_cluster::{WorkerCluster, worker_config};
use crate::workers::{EmbeddedWorkerClients, manager_objects, worker_objects};

/// An annotation of MultiKueueClusters: with the value `down`, the manager does not reach the cluster.
const NETWORK_ANNOTATION: &str = "kueue-lab.dev/network";

/// The worker clusters of a manager. Clones share them.
#[derive(Clone)]
pub(crate) struct WorkerClusters(Arc<Shared>);

struct Shared {
    /// The configuration of a worker without a name; `None` for a cluster that has no workers, ever.
    template: Option<LabConfig>,
    /// Whether the file of a preset says how many there are.
    of_presets: bool,
    running: RwLock<Vec<WorkerCluster>>,
    /// Clusters that exist without the lab.
    existing: RwLock<Vec<ExistingWorker>>,
    clients: EmbeddedWorkerClients,
    /// The addresses of this machine at which the manager reaches workers.
    host_addresses: HostAddresses,
    /// Held while workers start or stop.
    changing: Mutex<()>,
    changes: watch::Sender<()>,
}

impl WorkerClusters {
    /// No worker clusters yet, for a lab with this configuration.
    pub(crate) fn new(config: &LabConfig) -> Self {
        let is_embedded = config.cluster.remote.is_none() && config.components.controller;
        let may_have_workers = is_embedded && config.cluster.role.may_have_workers();
        Self(Arc::new(Shared {
            template: may_have_workers.then(|| worker_config(config, "")),
            of_presets: may_have_workers && config.cluster.role == ClusterRole::Single,
            running: RwLock::default(),
            existing: RwLock::default(),
            clients: EmbeddedWorkerClients::new(config.cluster.host_addresses.clone()),
            host_addresses: config.cluster.host_addresses.clone(),
            changing: Mutex::default(),
            changes: watch::Sender::default(),
        }))
    }

    /// The workers at the start: those of the configuration, or of `clusters.yaml` of the first preset. An
    /// invalid file is reported when the preset is applied.
    pub(crate) fn first(&self, role: &ClusterRole, settings: &PresetSettings) -> WorkersOfPreset {
        match (role, &settings.clusters) {
            (ClusterRole::Manager { workers }, _) => WorkersOfPreset::embedded(*workers),
            (_, Some(file)) if self.0.of_presets => read_workers(file).unwrap_or_default(),
            _ => WorkersOfPreset::default(),
        }
    }

    /// The number that no preset changes; `None` if presets change it or the cluster cannot have workers.
    pub(crate) fn fixed_number(&self, role: &ClusterRole) -> Option<usize> {
        let is_fixed = !self.0.of_presets && role.may_have_workers();
        is_fixed.then(|| self.0.running.read().len())
    }

    /// Starts the first workers, with the first preset.
    ///
    /// # Errors
    /// One of them does not start; those before it run.
    pub(crate) async fn start(&self, first: &WorkersOfPreset) -> Result<(), LabError> {
        let (existing, _) = load_existing(&first.existing);
        self.set_existing(existing);
        self.start_until(first.embedded, |_| {}).await
    }

    /// Sets the clusters that exist without the lab, whose servers the manager may reach at each address.
    fn set_existing(&self, workers: Vec<ExistingWorker>) {
        let addresses = &self.0.host_addresses;
        for worker in &workers {
            addresses.add_server(worker.port());
        }
        let before = std::mem::replace(&mut *self.0.existing.write(), workers);
        for worker in before {
            addresses.remove_server(worker.port());
        }
    }

    /// The errors of the kubeconfigs of clusters that exist without the lab.
    pub(crate) fn check(&self, workers: &WorkersOfPreset) -> Vec<Finding> {
        match self.0.of_presets {
            true => load_existing(&workers.existing).1,
            false => Vec::new(),
        }
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
        self.0.running.read().is_empty() && self.0.existing.read().is_empty()
    }

    /// Their names and kubeconfigs.
    fn kubeconfigs_by_name(&self) -> Vec<(String, String)> {
        let running = self.0.running.read();
        let existing = self.0.existing.read();
        let embedded = running.iter();
        let embedded = embedded.map(|w| (w.name.clone(), w.kubeconfig.clone()));
        let existing = existing.iter();
        embedded
            .chain(existing.map(|w| (w.name().to_owned(), w.kubeconfig.clone())))
            .collect()
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
        let workers = self.kubeconfigs_by_name();
        let workers = workers.iter().map(|(name, kube)| (&**name, &**kube));
        kueue_manager::apply_objects(manager, manager_objects(workers)).await
    }

    /// Starts and stops workers for the `clusters.yaml` of `preset`, none without one. New ones start with that
    /// preset. Returns one line for each change. An invalid file changes nothing.
    pub(crate) async fn apply(
        &self,
        preset: &str,
        file: Option<&SourceFile>,
        manager: &Client,
    ) -> Vec<String> {
        let wanted = file.map_or_else(|| Ok(WorkersOfPreset::default()), read_workers);
        let (true, Ok(wanted)) = (self.0.of_presets, wanted) else {
            return Vec::new();
        };
        let _changing = self.0.changing.lock().await;
        let before = self.kubeconfigs_by_name();
        let (existing, errors) = load_existing(&wanted.existing);
        let mut lines: Vec<String> = errors.iter().map(Finding::to_string).collect();
        self.set_existing(existing);
        let stopped = {
            let mut running = self.0.running.write();
            let kept = wanted.embedded.min(running.len());
            running.split_off(kept)
        };
        let with_preset = |config: &mut LabConfig| config.presets.active = Some(preset.to_owned());
        if let Err(error) = self.start_until(wanted.embedded, with_preset).await {
            lines.push(format!("a worker cluster does not start: {error}"));
        }
        let after = self.kubeconfigs_by_name();
        if before == after {
            return lines;
        }
        lines.extend(self.reconnect(&before, &after, manager).await);
        for worker in stopped {
            self.0.clients.remove(worker.embedded_worker());
            worker.stop().await;
        }
        self.0.changes.send_replace(());
        let (now, before) = (after.len(), before.len());
        lines.push(format!("worker clusters: {now}, {before} before"));
        let warnings = self.connection_warnings().await;
        lines.extend(warnings.iter().map(Finding::to_string));
        lines
    }

    /// Updates the objects with which the manager connects to the workers. Returns errors.
    async fn reconnect(
        &self,
        before: &[(String, String)],
        after: &[(String, String)],
        manager: &Client,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        if !after.is_empty()
            && let Err(error) = self.connect(manager).await
        {
            lines.push(format!(
                "the manager is not connected to the worker clusters: {error}"
            ));
        }
        let is_gone = |name: &&str| after.iter().all(|(left, _)| left != name);
        let gone = before.iter().map(|(name, _)| &**name).filter(is_gone);
        let removed = worker_objects(gone, after.is_empty());
        if let Err(error) = kueue_manager::delete_objects(manager, removed).await {
            lines.push(format!("objects of stopped worker clusters stay: {error}"));
        }
        lines
    }

    /// Which clusters that exist without the lab cannot be used now.
    async fn connection_warnings(&self) -> Vec<Finding> {
        let existing = self.0.existing.read().clone();
        let warnings = existing.iter().map(ExistingWorker::connection_warning);
        let warnings = futures::future::join_all(warnings).await;
        warnings.into_iter().flatten().collect()
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
            for warning in workers.connection_warnings().await {
                tracing::warn!("{warning}");
            }
            let mut follows_annotations = false;
            loop {
                if !follows_annotations && !workers.is_empty() {
                    workers.follow_annotations(&manager);
                    follows_annotations = true;
                }
                let changed = tokio::select! {
                    changed = changes.changed() => changed.is_ok(),
                    // New workers have the preset that the manager is about to apply.
                    changed = numbers.changed() => match changed {
                        Ok(()) => continue,
                        Err(_) => false,
                    },
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

/// The clusters whose kubeconfig can be used, and why that of others cannot.
fn load_existing(clusters: &[ExistingCluster]) -> (Vec<ExistingWorker>, Vec<Finding>) {
    let (mut workers, mut findings) = (Vec::new(), Vec::new());
    for cluster in clusters {
        match ExistingWorker::load(cluster) {
            Ok(worker) => workers.push(worker),
            Err(finding) => findings.push(finding),
        }
    }
    (workers, findings)
}

async fn switch_to(presets: &Presets, active: Option<&str>) {
    let Some(name) = active.filter(|name| presets.state().active.as_deref() != Some(name)) else {
        return;
    };
    for finding in presets.switch(name).await.err().unwrap_or_default() {
        tracing::warn!("worker cluster: {finding}");
    }
}
