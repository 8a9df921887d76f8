//! Reloads the active preset: reads the files, applies them, and keeps the last good state on errors.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::api_client::ApiClient;
use super::apply::{Applier, ApplyError, ApplyOutcome};
use super::check_preset::check_preset;
use super::file_notify::{FileWatcher, folders_of_preset};
use super::folder::{self, FolderError, PresetSource};
use super::lab_settings::{BaseConfiguration, LabSettings};
use super::preset_settings::PresetSettings;
use super::{Finding, Manifest, ParsedPreset, PresetInfo, PresetsState, SyncStatus};
use kueue_lab_clock::Clock;
use kueue_lab_yaml::Position;

/// How long to wait for content in a file that has become empty.
const EMPTY_FILE_GRACE: Duration = Duration::from_millis(60);
/// The delay before a failed apply is retried.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The configuration of [`Presets`].
#[derive(Clone)]
pub struct PresetsConfig {
    /// The presets folder.
    pub folder: PathBuf,
    /// The active preset at the start; `None` applies nothing until a switch.
    pub active: Option<String>,
    /// Whether an invalid active preset is an error at the start. Otherwise the state has its errors, and
    /// it is applied when it is corrected.
    pub active_must_be_valid: bool,
    /// Whether to watch the files.
    pub watch: bool,
    /// The configuration of the controller for presets without `kueue.yaml`.
    pub base: BaseConfiguration,
    /// Applies the settings of presets; without it they are ignored.
    pub lab: Option<Arc<dyn LabSettings>>,
    /// The settings that are applied already.
    pub applied_settings: PresetSettings,
    /// Changes the objects of a preset before they are applied.
    pub adapt: Option<fn(&mut Vec<Manifest>)>,
}

/// Why no preset could be applied at the start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder or the preset cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The preset is invalid.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Finding>),
    /// The API server cannot be reached.
    #[error("{0}")]
    Unreachable(String),
}

enum Command {
    Switch(String, oneshot::Sender<Result<(), Vec<Finding>>>),
    Reload(oneshot::Sender<()>),
    Restore(oneshot::Sender<Result<(), Vec<Finding>>>),
}

/// Set while another lab applies presets to the cluster.
#[derive(Default)]
struct IdleFlag {
    on: AtomicBool,
    changed: Notify,
}

/// The presets of a running lab.
pub struct Presets {
    commands: mpsc::Sender<Command>,
    idle: Arc<IdleFlag>,
    state: watch::Receiver<Arc<PresetsState>>,
    stop: CancellationToken,
}

impl Drop for Presets {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Presets {
    /// Applies the active preset, if any, and then watches its files.
    ///
    /// # Errors
    /// The preset cannot be read, or is invalid and must not be; then nothing is applied.
    pub async fn start(
        client: Client,
        clock: Clock,
        config: PresetsConfig,
    ) -> Result<Self, StartError> {
        let unreachable =
            |e: super::api_client::RequestError| StartError::Unreachable(e.to_string());
        let applier = Applier::new(ApiClient { client })
            .await
            .map_err(unreachable)?;
        let initial = PresetsState {
            origin: config.folder.display().to_string(),
            ..PresetsState::default()
        };
        let (publish, state) = watch::channel(Arc::new(initial));
        let (commands, received_commands) = mpsc::channel(16);
        let stop = CancellationToken::new();
        let idle = Arc::new(IdleFlag::default());
        let mut reloader = Reloader {
            applier,
            idle: idle.clone(),
            clock,
            state: publish,
            last_read: None,
            retry_at: None,
            inventory_stale: false,
            config,
        };
        // Watch before reading, so that no change in between is lost.
        let mut watch = reloader.config.watch.then(FileWatcher::new);
        reloader.update_watched_folders(&mut watch);
        match reloader.config.active.clone() {
            Some(name) => {
                let source = folder::read(&reloader.config.folder, &name)?;
                let applied = reloader.apply_preset(&name, source).await;
                match applied {
                    Ok(()) => {}
                    Err(findings) if reloader.config.active_must_be_valid => {
                        return Err(StartError::Invalid(findings));
                    }
                    Err(findings) => reloader.keep_last_good(findings),
                }
            }
            None => {
                folder::list(&reloader.config.folder)?;
                reloader.publish(|_| {});
            }
        }
        reloader.update_watched_folders(&mut watch);
        tokio::spawn(reloader.run(received_commands, watch, stop.clone()));
        Ok(Self {
            commands,
            idle,
            state,
            stop,
        })
    }

    /// Activates another preset: applies it, then prunes the objects that only the old one has.
    ///
    /// # Errors
    /// The findings; the old preset stays active.
    pub async fn switch(&self, name: &str) -> Result<(), Vec<Finding>> {
        let (reply, received) = oneshot::channel();
        let stopped = || vec![Finding::error(name, Position::START, "the lab is stopping")];
        let command = Command::Switch(name.to_owned(), reply);
        self.commands.send(command).await.map_err(|_| stopped())?;
        received.await.map_err(|_| stopped())?
    }

    /// Applies all objects of the active preset again, in place of changes that other clients made.
    ///
    /// # Errors
    /// The findings; the last good state stays applied.
    pub async fn restore(&self) -> Result<(), Vec<Finding>> {
        let (reply, received) = oneshot::channel();
        let stopped = || vec![Finding::error("", Position::START, "the lab is stopping")];
        let sent = self.commands.send(Command::Restore(reply)).await;
        sent.map_err(|_| stopped())?;
        received.await.map_err(|_| stopped())?
    }

    /// Reloads the files now, whether or not they are watched.
    pub async fn reload(&self) {
        let (reply, received) = oneshot::channel();
        if self.commands.send(Command::Reload(reply)).await.is_ok() {
            let _ = received.await;
        }
    }

    /// Stops applying files while another lab leads, or applies the current files again.
    pub fn set_idle(&self, idle: bool) {
        if self.idle.on.swap(idle, Ordering::SeqCst) != idle {
            self.idle.changed.notify_one();
        }
    }

    /// The current state.
    pub fn state(&self) -> Arc<PresetsState> {
        self.state.borrow().clone()
    }

    /// A receiver of state changes.
    pub fn changes(&self) -> watch::Receiver<Arc<PresetsState>> {
        self.state.clone()
    }

    /// Stops watching the files; applied objects stay in the cluster.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.commands.closed().await;
    }
}

struct Reloader {
    applier: Applier,
    idle: Arc<IdleFlag>,
    clock: Clock,
    config: PresetsConfig,
    state: watch::Sender<Arc<PresetsState>>,
    /// The files as they were last read.
    last_read: Option<PresetSource>,
    /// The time of the next retry.
    retry_at: Option<tokio::time::Instant>,
    /// Whether another lab may have changed the inventory.
    inventory_stale: bool,
}

impl Reloader {
    async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        mut watch: Option<FileWatcher>,
        stop: CancellationToken,
    ) {
        let idle = self.idle.clone();
        let mut was_idle = false;
        loop {
            let retry = self.retry_at;
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = idle.changed.notified() => {
                    let is_idle = self.is_idle();
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
    fn update_watched_folders(&self, watch: &mut Option<FileWatcher>) {
        if let Some(watch) = watch {
            watch.watch_folders(folders_of_preset(
                &self.config.folder,
                self.config.active.as_deref(),
            ));
        }
    }

    /// Reads the files and applies them if they changed or if `force` is set.
    async fn reload(&mut self, force: bool) {
        if self.is_idle() {
            return;
        }
        if self.inventory_stale {
            // Another lab applied presets meanwhile: load its inventory from the cluster.
            match Applier::new(self.applier.remote()).await {
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
            return self.publish(|_| {});
        };
        match self.read_preset(&name).await {
            Ok(source) if !force && self.last_read.as_ref() == Some(&source) => {
                self.publish(|_| {});
            }
            Ok(source) => {
                if let Err(findings) = self.apply_preset(&name, source).await {
                    self.keep_last_good(findings);
                }
            }
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

    fn is_idle(&self) -> bool {
        self.idle.on.load(Ordering::SeqCst)
    }

    async fn switch(&mut self, name: &str) -> Result<(), Vec<Finding>> {
        if self.is_idle() || self.inventory_stale {
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
        let started = Instant::now();
        let ParsedPreset {
            mut manifests,
            findings,
        } = check_preset(&source, &self.config.base, self.config.lab.as_deref());
        let active = self.config.active.as_deref() == Some(name);
        if active {
            self.last_read = Some(source.clone());
        }
        let (errors, mut warnings): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(Finding::is_error);
        if !errors.is_empty() {
            return Err(errors);
        }
        if let Some(adapt) = self.config.adapt {
            adapt(&mut manifests);
        }
        let count = manifests.len();
        let changes = self.apply_settings(&source.settings).await;
        let previous =
            std::mem::replace(&mut self.config.applied_settings, source.settings.clone());
        let outcome = match self.applier.apply(name, manifests).await {
            Ok(outcome) => outcome,
            Err(error) => {
                self.apply_settings(&previous).await;
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
        let mut summary = summary(&outcome);
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
        self.publish(|state| {
            state.active = Some(name.to_owned());
            state.sync_status = SyncStatus::Synced;
            state.revision += 1;
            state.objects = objects;
            state.summary = summary;
            state.applied_at = Some(now);
            state.errors.clear();
            state.warnings = warnings;
        });
        Ok(())
    }

    /// Applies settings that differ from the applied ones; returns a line for each change.
    async fn apply_settings(&self, settings: &PresetSettings) -> Vec<String> {
        match &self.config.lab {
            Some(lab) if *settings != self.config.applied_settings => lab.apply(settings).await,
            _ => Vec::new(),
        }
    }

    /// Keeps the last good state and reports the findings.
    fn keep_last_good(&self, findings: Vec<Finding>) {
        if self.state.borrow().errors != findings {
            for finding in &findings {
                tracing::error!("{finding}");
            }
            let name = self.config.active.as_deref().unwrap_or_default();
            match self.state.borrow().revision {
                0 => tracing::warn!("preset {name}: nothing is applied until it is corrected"),
                _ => tracing::warn!("preset {name}: the last good state stays applied"),
            }
        }
        self.publish(|state| {
            state.sync_status = match state.revision {
                0 => SyncStatus::NotApplied,
                _ => SyncStatus::LastGood,
            };
            state.active.clone_from(&self.config.active);
            state.errors = findings;
        });
    }

    /// Updates the state and the list of presets.
    fn publish(&self, change: impl FnOnce(&mut PresetsState)) {
        let mut state = PresetsState::clone(&self.state.borrow());
        let known: BTreeMap<_, _> = std::mem::take(&mut state.presets)
            .into_iter()
            .map(|p| (p.name.clone(), p))
            .collect();
        state.presets = self.list_presets(known);
        change(&mut state);
        self.state.send_if_modified(|old| {
            let different = **old != state;
            if different {
                *old = Arc::new(state);
            }
            different
        });
    }

    /// All presets of the folder. A preset that cannot be read keeps its previous entry.
    fn list_presets(&self, mut known: BTreeMap<String, PresetInfo>) -> Vec<PresetInfo> {
        let Ok(names) = folder::list(&self.config.folder) else {
            return known.into_values().collect();
        };
        let info = |name: String| match folder::read(&self.config.folder, &name) {
            Ok(source) => PresetInfo {
                name,
                files: source.file_names(),
                description: source.description,
                samples: source.samples,
            },
            Err(_) => known.remove(&name).unwrap_or(PresetInfo {
                name,
                ..PresetInfo::default()
            }),
        };
        names.into_iter().map(info).collect()
    }
}

fn summary(outcome: &ApplyOutcome) -> String {
    let parts = [
        (outcome.applied, "applied"),
        (outcome.recreated, "of them recreated"),
        (outcome.pruned, "removed"),
        (outcome.unchanged, "unchanged"),
    ];
    let texts: Vec<_> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    match texts.is_empty() {
        true => "no changes".into(),
        false => texts.join(", "),
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
