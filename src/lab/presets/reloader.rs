//! Reloads the active preset: reads the files, applies them, and keeps the last good state on errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::api_client::RequestError;
use super::apply::{Applier, ApplyError};
use super::check_preset::check_in_cluster;
use super::cluster_objects::ClusterObjects;
use super::file_notify::{FileWatcher, folders_of_preset};
use super::folder::{self, FolderError, PresetSource};
use super::preset_settings::PresetSettings;
use super::presets::{PresetsConfig, StartError};
use super::presets_snapshot::PresetsSnapshot;
use super::save_review::{ReviewError, ReviewedSave, SavedPreset, hold_save};
use super::state_publisher::StatePublisher;
use super::unmanaged_objects::UnmanagedObjects;
use super::{Finding, Manifest, ParsedPreset, SyncStatus};
use kueue_lab_clock::Clock;
use kueue_lab_yaml::Position;

/// How long to wait for content in a file that has become empty.
const EMPTY_FILE_GRACE: Duration = Duration::from_millis(60);
/// How long the scheduler is held at most until the controllers have observed a preset: their watches may be
/// interrupted.
const OBSERVATION_TIMEOUT: Duration = Duration::from_secs(5);
/// The delay before a failed apply is retried.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// A command of [`super::Presets`], with the channel of its answer.
pub(super) enum Command {
    Switch(String, oneshot::Sender<Result<(), Vec<Finding>>>),
    Reload(oneshot::Sender<()>),
    Restore(oneshot::Sender<Result<(), Vec<Finding>>>),
    Snapshot(oneshot::Sender<Option<PresetsSnapshot>>),
}

/// Set while another lab applies presets to the cluster.
#[derive(Default)]
pub(super) struct IdleFlag {
    on: AtomicBool,
    changed: Notify,
}

impl IdleFlag {
    /// Sets the flag, and wakes the reloader if that changes it.
    pub(super) fn set(&self, idle: bool) {
        if self.on.swap(idle, Ordering::SeqCst) != idle {
            self.changed.notify_one();
        }
    }

    fn get(&self) -> bool {
        self.on.load(Ordering::SeqCst)
    }
}

/// A preset without errors.
struct CheckedPreset {
    manifests: Vec<Manifest>,
    warnings: Vec<Finding>,
    /// The objects of the cluster that it can reference.
    unmanaged: Result<UnmanagedObjects, RequestError>,
}

/// Applies the files of the active preset.
pub(super) struct Reloader {
    applier: Applier,
    idle: Arc<IdleFlag>,
    clock: Clock,
    config: PresetsConfig,
    state: StatePublisher,
    /// The files as they were last read.
    last_read: Option<PresetSource>,
    /// The time of the next retry.
    retry_at: Option<tokio::time::Instant>,
    /// Whether another lab may have changed the inventory.
    inventory_stale: bool,
    /// Whether the first preset is being applied, before there is anything to schedule.
    starting: bool,
}

impl Reloader {
    /// A reloader that has applied nothing.
    pub(super) fn new(
        applier: Applier,
        idle: Arc<IdleFlag>,
        clock: Clock,
        state: StatePublisher,
        config: PresetsConfig,
    ) -> Self {
        Self {
            applier,
            idle,
            clock,
            config,
            state,
            last_read: None,
            retry_at: None,
            inventory_stale: false,
            starting: true,
        }
    }

    /// A watcher of the files, if they are to be watched.
    pub(super) fn watch_files(&self) -> Option<FileWatcher> {
        let mut watch = self.config.watch.then(FileWatcher::new);
        self.update_watched_folders(&mut watch);
        watch
    }

    /// Applies the first preset, if any.
    ///
    /// # Errors
    /// The preset cannot be read, or is invalid and must not be; then nothing is applied.
    pub(super) async fn apply_first(&mut self) -> Result<(), StartError> {
        let Some(name) = self.config.active.clone() else {
            folder::list(&self.config.folder)?;
            self.state.list_from_now_on();
            self.state.publish(|_| {});
            return Ok(());
        };
        let source = folder::read(&self.config.folder, &name)?;
        match self.apply_preset(&name, source).await {
            Ok(()) => {}
            Err(findings) if self.config.active_must_be_valid => {
                return Err(StartError::Invalid(findings));
            }
            Err(findings) => self.keep_last_good(findings),
        }
        Ok(())
    }

    /// Continues with the applied state.
    pub(super) fn set_applied(&mut self, snapshot: PresetsSnapshot) {
        self.last_read = snapshot.last_read;
        self.config.active.clone_from(&snapshot.state.active);
        self.config.applied_settings = snapshot.settings;
        self.state.set(snapshot.state);
    }

    /// The applied state; `None` unless that is the active preset as it is in its files.
    fn snapshot(&self) -> Option<PresetsSnapshot> {
        let state = self.state.current();
        let is_synced = state.sync_status == SyncStatus::Synced && self.retry_at.is_none();
        is_synced.then(|| PresetsSnapshot {
            kinds: self.applier.kinds.clone(),
            applied_objects: self.applier.applied_objects.clone(),
            versions: self.applier.versions.clone(),
            last_read: self.last_read.clone(),
            settings: self.config.applied_settings.clone(),
            state: (*state).clone(),
        })
    }

    /// Handles commands, changes of files and retries until `stop`.
    pub(super) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        mut watch: Option<FileWatcher>,
        stop: CancellationToken,
    ) {
        let idle = self.idle.clone();
        self.starting = false;
        if self.config.lists_all {
            self.state.list_from_now_on();
            self.state.publish(|_| {});
        }
        let mut was_idle = false;
        loop {
            let retry = self.retry_at;
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = idle.changed.notified() => {
                    let is_idle = self.idle.get();
                    if std::mem::replace(&mut was_idle, is_idle) && !is_idle {
                        self.retry_at = Some(tokio::time::Instant::now());
                        self.inventory_stale = true;
                    }
                }
                command = commands.recv() => match command {
                    None => return,
                    Some(Command::Switch(name, reply)) => {
                        let _ = reply.send(self.switch(&name).await);
                    }
                    Some(Command::Restore(reply)) => {
                        let _ = reply.send(self.restore().await);
                    }
                    Some(Command::Snapshot(reply)) => {
                        let _ = reply.send(self.snapshot());
                    }
                    Some(Command::Reload(reply)) => {
                        self.reload(false).await;
                        let _ = reply.send(());
                    }
                },
                () = changed(&mut watch) => self.reload(false).await,
                () = until(retry) => {
                    self.retry_at = None;
                    self.reload(true).await;
                }
            }
            self.update_watched_folders(&mut watch);
        }
    }

    /// Updates the set of watched folders.
    pub(super) fn update_watched_folders(&self, watch: &mut Option<FileWatcher>) {
        if let Some(watch) = watch {
            watch.watch_folders(folders_of_preset(
                &self.config.folder,
                self.config.active.as_deref(),
            ));
        }
    }

    /// Reads the files and applies them if they changed or if `force` is set.
    async fn reload(&mut self, force: bool) {
        if self.idle.get() {
            return;
        }
        if self.inventory_stale {
            // Another lab has applied presets: load its inventory from the cluster.
            match Applier::new(self.applier.remote(), self.config.apply).await {
                Ok(applier) => self.applier = applier,
                Err(error) => {
                    tracing::debug!(%error, "cannot load the inventory, retrying");
                    self.retry_at = Some(tokio::time::Instant::now() + RETRY_INTERVAL);
                    return;
                }
            }
            self.inventory_stale = false;
        }
        let Some(name) = self.config.active.clone() else {
            return self.state.publish(|_| {});
        };
        match self.read_preset(&name).await {
            Ok(source) if !force && self.last_read.as_ref() == Some(&source) => {
                self.state.publish(|_| {});
            }
            Ok(source) => self.apply_save(&name, source).await,
            Err(error) => {
                self.last_read = None;
                let file = folder::preset_folder(&self.config.folder, &name);
                let file = file.display().to_string();
                self.keep_last_good(vec![Finding::error(
                    &file,
                    Position::START,
                    error.to_string(),
                )]);
            }
        }
    }

    /// Applies a save, and plans its effects.
    async fn apply_save(&mut self, name: &str, source: PresetSource) {
        let checked = match self.check(name, &source).await {
            Ok(checked) => checked,
            Err(findings) => return self.keep_last_good(findings),
        };
        let review = self.config.review.clone();
        let holds = review.as_ref().is_some_and(|review| review.holds_saves());
        let plan = match review {
            Some(review) => {
                let saved = SavedPreset {
                    folder: self.config.folder.clone(),
                    name: name.to_owned(),
                };
                let client = self.applier.remote().client;
                Some(review.begin(&client, saved).await)
            }
            None => None,
        };
        let failed = |error: ReviewError| {
            tracing::warn!("preset {name}: the save cannot be planned: {error}");
            ReviewedSave::default()
        };
        match plan {
            Some(Ok(plan)) if holds => {
                let reviewed = plan.await.unwrap_or_else(failed);
                if let Some(hold_reason) = reviewed.hold_reason {
                    self.last_read = Some(source);
                    return hold_save(
                        &self.state,
                        &self.config.folder,
                        name,
                        hold_reason,
                        reviewed.plan,
                    );
                }
                self.state.publish(|state| state.plan = reviewed.plan);
            }
            Some(Ok(plan)) => {
                let (state, name) = (self.state.clone(), name.to_owned());
                tokio::spawn(async move {
                    let reviewed = plan.await.unwrap_or_else(|error| {
                        tracing::warn!("preset {name}: the save cannot be planned: {error}");
                        ReviewedSave::default()
                    });
                    state.publish(|state| state.plan = reviewed.plan);
                });
            }
            Some(Err(error)) => drop(failed(error)),
            None => {}
        }
        if let Err(findings) = self.apply_checked(name, source, checked).await {
            self.keep_last_good(findings);
        }
    }

    /// Reads a preset; waits briefly for content in a file that has just become empty.
    async fn read_preset(&self, name: &str) -> Result<PresetSource, FolderError> {
        let source = folder::read(&self.config.folder, name)?;
        let blank_before = self
            .last_read
            .as_ref()
            .is_some_and(PresetSource::has_blank_file);
        if source.has_blank_file() && !blank_before {
            tokio::time::sleep(EMPTY_FILE_GRACE).await;
            return folder::read(&self.config.folder, name);
        }
        Ok(source)
    }

    async fn switch(&mut self, name: &str) -> Result<(), Vec<Finding>> {
        if self.idle.get() || self.inventory_stale {
            let file = self.config.folder.display().to_string();
            let why = "another lab is the leader on this cluster and applies its presets";
            return Err(vec![Finding::error(&file, Position::START, why)]);
        }
        let source = folder::read(&self.config.folder, name).map_err(|error| {
            let file = self.config.folder.display().to_string();
            vec![Finding::error(&file, Position::START, error.to_string())]
        })?;
        self.apply_preset(name, source).await
    }

    async fn restore(&mut self) -> Result<(), Vec<Finding>> {
        let Some(name) = self.config.active.clone() else {
            return Ok(());
        };
        self.applier.forget_applied_values();
        self.switch(&name).await
    }

    /// Applies the files of the preset `name` and makes it the active one. On an error nothing changes.
    async fn apply_preset(&mut self, name: &str, source: PresetSource) -> Result<(), Vec<Finding>> {
        let checked = self.check(name, &source).await?;
        self.apply_checked(name, source, checked).await
    }

    /// Parses and checks the files of the preset `name` and its objects in the cluster.
    async fn check(
        &mut self,
        name: &str,
        source: &PresetSource,
    ) -> Result<CheckedPreset, Vec<Finding>> {
        let lab = self.config.lab.as_deref();
        let nodes = match lab {
            Some(lab) => lab.nodes(source.settings.nodes.as_ref()).await,
            None => Vec::new(),
        };
        let gates = &self.config.base.gates;
        // Without them there are only warnings too many or too few.
        let unmanaged = self.applier.unmanaged_objects().await;
        let of_cluster = unmanaged.as_ref().map(|u| u.linted_manifests(gates));
        let cluster = ClusterObjects {
            nodes: &nodes,
            manifests: &of_cluster.unwrap_or_default(),
        };
        let ParsedPreset {
            mut manifests,
            findings,
        } = check_in_cluster(source, &self.config.base, lab, cluster);
        if self.config.active.as_deref() == Some(name) {
            self.last_read = Some(source.clone());
        }
        let (errors, warnings): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(Finding::is_error);
        if !errors.is_empty() {
            return Err(errors);
        }
        if let Some(adapt) = self.config.adapt {
            adapt(&mut manifests);
        }
        Ok(CheckedPreset {
            manifests,
            warnings,
            unmanaged,
        })
    }

    /// Applies a preset without errors and makes it the active one. On an error nothing changes.
    async fn apply_checked(
        &mut self,
        name: &str,
        source: PresetSource,
        checked: CheckedPreset,
    ) -> Result<(), Vec<Finding>> {
        let CheckedPreset {
            manifests,
            mut warnings,
            unmanaged,
        } = checked;
        let started = Instant::now();
        let active = self.config.active.as_deref() == Some(name);
        let count = manifests.len();
        let changes = self.apply_settings(name, &source.settings).await;
        let previous =
            std::mem::replace(&mut self.config.applied_settings, source.settings.clone());
        // The scheduler decides when all objects are applied, not in between.
        let hold = match &self.config.lab {
            Some(lab) if !self.starting => Some(lab.hold_scheduling().await),
            _ => None,
        };
        let applied = match unmanaged {
            Ok(unmanaged) => self.applier.apply(name, manifests, &unmanaged).await,
            Err(error) => Err(error.into()),
        };
        let writes = self.applier.take_writes();
        if let (Some(lab), Some(_)) = (&self.config.lab, &hold) {
            let observed = lab.wait_until_observed(&writes);
            let observed = tokio::time::timeout(OBSERVATION_TIMEOUT, observed).await;
            if observed.is_err() {
                tracing::debug!("preset {name}: not all of its objects are observed yet");
            }
        }
        drop(hold);
        let outcome = match applied {
            Ok(outcome) => outcome,
            Err(error) => {
                let before = self.config.active.clone().unwrap_or_default();
                self.apply_settings(&before, &previous).await;
                self.config.applied_settings = previous;
                if active && !matches!(error, ApplyError::Rejected(_)) {
                    self.retry_at = Some(tokio::time::Instant::now() + RETRY_INTERVAL);
                }
                let file = folder::preset_folder(&self.config.folder, name);
                let file = file.display().to_string();
                return Err(error.findings(&file));
            }
        };
        self.retry_at = None;
        self.last_read = Some(source);
        self.config.active = Some(name.to_owned());
        warnings.extend(outcome.warnings.iter().cloned());
        warnings.sort();
        let mut summary = outcome.summary();
        for change in &changes {
            tracing::info!("preset {name}: {change}");
            summary = format!("{summary}; {change}");
        }
        let took = started.elapsed().as_millis();
        tracing::info!("preset {name} applied: {count} objects ({summary}) in {took} ms");
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let now = self.clock.now();
        let objects = self.applier.len();
        self.state.publish(|state| {
            if state.active.as_deref() != Some(name) {
                // It is of another preset.
                state.plan.clear();
            }
            state.active = Some(name.to_owned());
            state.sync_status = SyncStatus::Synced;
            state.revision += 1;
            state.objects = objects;
            state.summary = summary;
            state.applied_at = Some(now);
            state.errors.clear();
            state.warnings = warnings;
            state.taken_over = outcome.taken_over;
        });
        Ok(())
    }

    /// Applies settings that differ from the applied ones; returns a line for each change.
    async fn apply_settings(&self, preset: &str, settings: &PresetSettings) -> Vec<String> {
        match &self.config.lab {
            Some(lab) if *settings != self.config.applied_settings => {
                lab.apply(preset, settings).await
            }
            _ => Vec::new(),
        }
    }

    /// Keeps the last good state and reports the findings.
    fn keep_last_good(&self, findings: Vec<Finding>) {
        if self.state.current().errors != findings {
            for finding in &findings {
                tracing::error!("{finding}");
            }
            let name = self.config.active.as_deref().unwrap_or_default();
            match self.state.current().revision {
                0 => tracing::warn!("preset {name}: nothing is applied until it is corrected"),
                _ => tracing::warn!("preset {name}: the last good state stays applied"),
            }
        }
        self.state.publish(|state| {
            state.sync_status = match state.revision {
                0 => SyncStatus::NotApplied,
                _ => SyncStatus::LastGood,
            };
            state.active.clone_from(&self.config.active);
            state.errors = findings;
        });
    }
}

async fn changed(watch: &mut Option<FileWatcher>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}

async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
